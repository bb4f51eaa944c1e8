package cards.purse;

import javacard.framework.ISO7816;
import javacard.framework.ISOException;
import javacard.framework.Util;

/**
 * A cyclic file: the newest record has number 1, and another record overwrites the oldest.
 * Each record is followed by its CRC.
 */
final class CyclicFile {
    private static final short CRC_BYTES = 2;

    private final byte[] data;
    private final short recordBytes;
    private final short slotBytes;
    private final byte capacity;
    private byte newest;
    private byte used;

    /** Makes an empty file for {@code capacity} records of {@code recordBytes} each. */
    CyclicFile(byte capacity, short recordBytes) {
        this.capacity = capacity;
        this.recordBytes = recordBytes;
        slotBytes = (short) (recordBytes + CRC_BYTES);
        data = new byte[(short) (capacity * slotBytes)];
        newest = (byte) (capacity - 1);
    }

    /** Appends a record. The caller opens a transaction. */
    void append(byte[] record, short offset) {
        byte next = (byte) (newest + 1);
        if (next == capacity) {
            next = 0;
        }
        short slot = (short) (next * slotBytes);
        Util.arrayCopy(record, offset, data, slot, recordBytes);
        Util.setShort(data, (short) (slot + recordBytes), Crc16.of(record, offset, recordBytes));
        newest = next;
        if (used < capacity) {
            used++;
        }
    }

    /** Copies a record; number 1 is the newest. Throws 6A83 if there is none, 6581 if it is torn. */
    short read(byte number, byte[] out, short offset) {
        short slot = slotOf(number);
        if (slot < 0) {
            ISOException.throwIt(ISO7816.SW_RECORD_NOT_FOUND);
        }
        if (Crc16.of(data, slot, recordBytes) != Util.getShort(data, (short) (slot + recordBytes))) {
            ISOException.throwIt(PurseApplet.SW_MEMORY_FAILURE);
        }
        return Util.arrayCopyNonAtomic(data, slot, out, offset, recordBytes);
    }

    /** Returns the number of the newest record that begins with these bytes, or 0. */
    byte find(byte[] prefix, short offset, short length) {
        for (byte number = 1; number <= used; number++) {
            if (Util.arrayCompare(data, slotOf(number), prefix, offset, length) == 0) {
                return number;
            }
        }
        return 0;
    }

    byte used() {
        return used;
    }

    short recordBytes() {
        return recordBytes;
    }

    private short slotOf(byte number) {
        if (number < 1 || number > used) {
            return -1;
        }
        byte slot = (byte) ((byte) (newest - number) + 1);
        if (slot < 0) {
            slot = (byte) (slot + capacity);
        }
        return (short) (slot * slotBytes);
    }
}
