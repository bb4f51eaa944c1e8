package cards.purse;

/** The CRC that detects a torn record: CCITT, initial value FFFF, computed by half bytes. */
final class Crc16 {
    private static final short[] TABLE = {
        (short) 0x0000, (short) 0x1021, (short) 0x2042, (short) 0x3063,
        (short) 0x4084, (short) 0x50A5, (short) 0x60C6, (short) 0x70E7,
        (short) 0x8108, (short) 0x9129, (short) 0xA14A, (short) 0xB16B,
        (short) 0xC18C, (short) 0xD1AD, (short) 0xE1CE, (short) 0xF1EF,
    };

    private Crc16() {
    }

    /** Returns the CRC of {@code length} bytes. */
    static short of(byte[] buffer, short offset, short length) {
        short crc = (short) 0xFFFF;
        short end = (short) (offset + length);
        for (; offset < end; offset++) {
            crc = step(crc, (byte) (buffer[offset] >> 4));
            crc = step(crc, buffer[offset]);
        }
        return crc;
    }

    private static short step(short crc, byte nibble) {
        short index = (short) (((crc >> 12) ^ nibble) & 0x0F);
        return (short) ((short) (crc << 4) ^ TABLE[index]);
    }
}
