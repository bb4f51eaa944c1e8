package platform;

/** CRC-16 of CCITT, bit by bit. The mote computes the same number in another way. */
final class Checksum {
    private Checksum() {
    }

    static int of(byte[] data, int length) {
        int crc = 0;
        for (int i = 0; i < length; i++) {
            crc = next(crc, data[i]);
        }
        return crc;
    }

    static int next(int crc, byte value) {
        crc ^= (value & 0xff) << 8;
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc & 0x8000) != 0 ? crc << 1 ^ 0x1021 : crc << 1;
        }
        return crc & 0xffff;
    }
}
