package sensors.util;

/** A buffer of fixed size for bytes. Numbers are in network order. */
public class Bytes {
    public final byte[] data;
    /** Number of bytes in use, behind which others are appended. */
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
