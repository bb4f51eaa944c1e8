package sensors.util;

/** Bytes in a buffer of fixed size, numbers in network order. */
public class Bytes {
    public final byte[] data;
    /** Bytes in use; what is put goes behind them. */
    public int length;

    public Bytes(int capacity) {
        data = new byte[capacity];
    }

    public final void put8(int value) {
        data[length++] = (byte) value;
    }

    public final void put16(int value) {
        put8(value >> 8);
        put8(value);
    }

    public final int get8(int position) {
        return data[position] & 0xff;
    }

    public final int get16(int position) {
        return get8(position) << 8 | get8(position + 1);
    }
}
