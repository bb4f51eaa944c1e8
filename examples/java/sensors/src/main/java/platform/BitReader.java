package platform;

/** Reads samples that sensors.util.DeltaEncoder compressed; the most significant bit comes first. */
final class BitReader {
    private final byte[] data;
    private final int end;
    private int position;
    private int previous;

    /** Reads the bytes from {@code start} up to {@code end}, exclusive. */
    BitReader(byte[] data, int start, int end) {
        this.data = data;
        this.end = end * 8;
        position = start * 8;
    }

    private int bits(int count) {
        int value = 0;
        for (int i = 0; i < count; i++) {
            if (position == end) {
                throw new IllegalStateException("compressed samples end too early");
            }
            value = value << 1 | data[position >> 3] >> 7 - (position & 7) & 1;
            position++;
        }
        return value;
    }

    int sample() {
        int folded = 0;
        if (bits(1) == 1) {
            if (bits(1) == 0) {
                folded = bits(4);
            } else if (bits(1) == 0) {
                folded = bits(8);
            } else {
                previous = (short) bits(16);
                return previous;
            }
        }
        previous += folded >>> 1 ^ -(folded & 1);
        return previous;
    }

    /** Returns true if only the padding of the last byte is left. */
    boolean atEnd() {
        return end - position < 8 && bits(end - position) == 0;
    }
}
