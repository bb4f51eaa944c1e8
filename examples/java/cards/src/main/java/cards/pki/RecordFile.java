package cards.pki;

import cards.lib.TlvWriter;
import javacard.framework.ISO7816;
import javacard.framework.ISOException;
import javacard.framework.JCSystem;
import javacard.framework.Util;

/**
 * An elementary file of records. It is linear, with fixed or variable length, or cyclic, where
 * record 1 is the newest one. Each record has room for the longest, and a byte for its length.
 */
final class RecordFile extends FileNode {
    private final short recordBytes;
    private final short capacity;
    private final byte[] data;
    private short used;
    private short newest;

    RecordFile(byte type, short id, byte shortId, short recordBytes, short capacity) {
        super(type, id, shortId);
        this.recordBytes = recordBytes;
        this.capacity = capacity;
        data = new byte[(short) (capacity * (short) (recordBytes + 1))];
        newest = (short) (capacity - 1);
    }

    short used() {
        return used;
    }

    byte[] data() {
        return data;
    }

    /** Returns the offset of a record's length byte. Throws 6A83 if there is no such record. */
    short slot(short number) {
        if (number < 1 || number > used) {
            ISOException.throwIt(ISO7816.SW_RECORD_NOT_FOUND);
        }
        short index = (short) (number - 1);
        if (type() == TYPE_CYCLIC) {
            index = (short) (newest - index);
            if (index < 0) {
                index = (short) (index + capacity);
            }
        }
        return (short) (index * (short) (recordBytes + 1));
    }

    /** Returns the length of a record. */
    short length(short number) {
        return (short) (data[slot(number)] & 0xFF);
    }

    /** Overwrites a record. Throws 6700 if the length is wrong for this file. */
    void update(short number, byte[] from, short offset, short length) {
        checkLength(length);
        write(slot(number), from, offset, length);
    }

    /** Appends a record. In a cyclic file it replaces the oldest one. */
    void append(byte[] from, short offset, short length) {
        short index = used;
        checkLength(length);
        if (type() == TYPE_CYCLIC) {
            index = (short) (newest + 1);
            if (index == capacity) {
                index = 0;
            }
        } else if (index == capacity) {
            ISOException.throwIt(ISO7816.SW_FILE_FULL);
        }
        JCSystem.beginTransaction();
        write((short) (index * (short) (recordBytes + 1)), from, offset, length);
        newest = index;
        if (used < capacity) {
            used++;
        }
        JCSystem.commitTransaction();
    }

    /** Returns the first record from {@code number} on that contains these bytes, or 0. */
    short search(short number, byte[] what, short offset, short length) {
        for (; number <= used; number++) {
            short slot = slot(number);
            short last = (short) ((short) (data[slot] & 0xFF) - length);
            for (short at = 0; at <= last; at++) {
                if (Util.arrayCompare(data, (short) ((short) (slot + 1) + at), what, offset, length) == 0) {
                    return number;
                }
            }
        }
        return 0;
    }

    private void checkLength(short length) {
        boolean right = type() == TYPE_LINEAR_VARIABLE
                ? length > 0 && length <= recordBytes : length == recordBytes;
        if (!right) {
            ISOException.throwIt(ISO7816.SW_WRONG_LENGTH);
        }
    }

    private void write(short slot, byte[] from, short offset, short length) {
        data[slot] = (byte) length;
        Util.arrayCopy(from, offset, data, (short) (slot + 1), length);
    }

    @Override
    short describe(byte[] out, short at) {
        at = TlvWriter.head(out, at, TAG_DESCRIPTOR, (short) 5);
        out[at++] = type();
        out[at++] = (byte) 0x21;
        at = Util.setShort(out, at, recordBytes);
        out[at++] = (byte) capacity;
        return at;
    }
}
