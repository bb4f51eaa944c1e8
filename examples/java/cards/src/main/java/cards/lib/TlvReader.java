package cards.lib;

import javacard.framework.ISO7816;
import javacard.framework.ISOException;
import javacard.framework.JCSystem;

/**
 * Walks over BER-TLV data objects in a buffer: tags of one or two bytes, lengths up to 32767.
 * Every call takes the buffer, because the APDU buffer must not be kept.
 */
public final class TlvReader {
    private static final byte POSITION = 0;
    private static final byte END = 1;
    private static final byte TAG = 2;
    private static final byte VALUE = 3;
    private static final byte LENGTH = 4;
    private static final byte SIZE = 5;

    private final short[] at;

    /** Makes a reader, whose state lies in RAM. */
    public TlvReader() {
        at = JCSystem.makeTransientShortArray(SIZE, JCSystem.CLEAR_ON_DESELECT);
    }

    /** Starts to read {@code length} bytes from {@code offset}. */
    public void begin(short offset, short length) {
        at[POSITION] = offset;
        at[END] = (short) (offset + length);
    }

    /** Starts to read the value of the current object of {@code outer}. */
    public void enter(TlvReader outer) {
        begin(outer.at[VALUE], outer.at[LENGTH]);
    }

    /**
     * Goes to the next data object. Returns false at the end; throws 6A80 for a malformed object.
     */
    public boolean next(byte[] buffer) {
        short position = at[POSITION];
        short end = at[END];
        while (position < end && buffer[position] == (byte) 0x00) {
            position++;
        }
        if (position >= end) {
            at[POSITION] = end;
            return false;
        }
        short tag = (short) (buffer[position++] & 0xFF);
        if ((short) (tag & 0x1F) == (short) 0x1F) {
            need(position, end);
            tag = (short) ((short) (tag << 8) | (short) (buffer[position++] & 0xFF));
        }
        need(position, end);
        short length = (short) (buffer[position++] & 0xFF);
        if (length == (short) 0x81) {
            need(position, end);
            length = (short) (buffer[position++] & 0xFF);
        } else if (length == (short) 0x82) {
            need((short) (position + 1), end);
            length = (short) ((short) (buffer[position] << 8) | (short) (buffer[(short) (position + 1)] & 0xFF));
            position += 2;
        } else if (length > (short) 0x7F) {
            ISOException.throwIt(ISO7816.SW_WRONG_DATA);
        }
        if (length < 0 || length > (short) (end - position)) {
            ISOException.throwIt(ISO7816.SW_WRONG_DATA);
        }
        at[TAG] = tag;
        at[VALUE] = position;
        at[LENGTH] = length;
        at[POSITION] = (short) (position + length);
        return true;
    }

    /** Goes to the next object with this tag. Returns false if there is none. */
    public boolean find(byte[] buffer, short tag) {
        while (next(buffer)) {
            if (at[TAG] == tag) {
                return true;
            }
        }
        return false;
    }

    /** Goes to the next object. Throws 6A80 unless it has this tag and a length between these. */
    public void expect(byte[] buffer, short tag, short least, short most) {
        if (!next(buffer) || at[TAG] != tag || at[LENGTH] < least || at[LENGTH] > most) {
            ISOException.throwIt(ISO7816.SW_WRONG_DATA);
        }
    }

    /** Returns true at the end of the bytes. */
    public boolean done() {
        return at[POSITION] >= at[END];
    }

    /** Returns the object's tag. A tag of two bytes is {@code first << 8 | second}. */
    public short tag() {
        return at[TAG];
    }

    /** Returns the offset of the object's value in the buffer. */
    public short value() {
        return at[VALUE];
    }

    /** Returns the length of the value in bytes. */
    public short length() {
        return at[LENGTH];
    }

    private static void need(short position, short end) {
        if (position >= end) {
            ISOException.throwIt(ISO7816.SW_WRONG_DATA);
        }
    }
}
