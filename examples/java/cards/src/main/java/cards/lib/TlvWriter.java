package cards.lib;

import javacard.framework.Util;

/** Writes BER-TLV data objects into a buffer. Each method returns the offset behind its last byte. */
public final class TlvWriter {
    private TlvWriter() {
    }

    /** Writes a tag of one or two bytes. */
    public static short tag(byte[] buffer, short offset, short tag) {
        if ((short) (tag & (short) 0xFF00) != 0) {
            return Util.setShort(buffer, offset, tag);
        }
        buffer[offset] = (byte) tag;
        return (short) (offset + 1);
    }

    /** Writes a tag and a length, with as few bytes as possible. */
    public static short head(byte[] buffer, short offset, short tag, short length) {
        offset = tag(buffer, offset, tag);
        if (length > (short) 0xFF) {
            buffer[offset++] = (byte) 0x82;
            return Util.setShort(buffer, offset, length);
        }
        if (length > (short) 0x7F) {
            buffer[offset++] = (byte) 0x81;
        }
        buffer[offset++] = (byte) length;
        return offset;
    }

    /** Writes an object. */
    public static short object(byte[] buffer, short offset, short tag, byte[] value, short from, short length) {
        offset = head(buffer, offset, tag, length);
        return Util.arrayCopyNonAtomic(value, from, buffer, offset, length);
    }

    /** Writes an object with a value of one byte. */
    public static short objectByte(byte[] buffer, short offset, short tag, byte value) {
        offset = head(buffer, offset, tag, (short) 1);
        buffer[offset++] = value;
        return offset;
    }

    /** Writes an object with a value of two bytes. */
    public static short objectShort(byte[] buffer, short offset, short tag, short value) {
        offset = head(buffer, offset, tag, (short) 2);
        return Util.setShort(buffer, offset, value);
    }

    /**
     * Writes the length of an object whose value ends at {@code end}. One byte was left free for
     * it at {@code lengthAt}; the value is moved if the length needs more bytes.
     */
    public static short close(byte[] buffer, short lengthAt, short end) {
        short value = (short) (lengthAt + 1);
        short length = (short) (end - value);
        if (length > (short) 0xFF) {
            Util.arrayCopyNonAtomic(buffer, value, buffer, (short) (value + 2), length);
            buffer[lengthAt] = (byte) 0x82;
            Util.setShort(buffer, value, length);
            return (short) (end + 2);
        }
        if (length > (short) 0x7F) {
            Util.arrayCopyNonAtomic(buffer, value, buffer, (short) (value + 1), length);
            buffer[lengthAt] = (byte) 0x81;
            buffer[value] = (byte) length;
            return (short) (end + 1);
        }
        buffer[lengthAt] = (byte) length;
        return end;
    }
}
