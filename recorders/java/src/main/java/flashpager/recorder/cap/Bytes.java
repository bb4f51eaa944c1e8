package flashpager.recorder.cap;

/** Reads big-endian numbers from an array, and checks each against its end. */
final class Bytes {
    final byte[] data;

    /** The file and the part of it, for messages. */
    private final String file;

    private final String part;

    /** Offset of the next byte. */
    int at;

    Bytes(byte[] data, String file, String part) {
        this.data = data;
        this.file = file;
        this.part = part;
    }

    CapException wrong(String problem) {
        return new CapException(file, part + ": " + problem);
    }

    /** Goes to an offset from the start. */
    Bytes seek(int offset) throws CapException {
        if (offset < 0 || offset > data.length) {
            throw wrong("offset " + offset + " lies outside its " + data.length + " bytes");
        }
        at = offset;
        return this;
    }

    Bytes skip(long bytes) throws CapException {
        if (bytes < 0 || bytes > data.length - at) {
            throw wrong("cut off after " + data.length + " bytes");
        }
        at += (int) bytes;
        return this;
    }

    int u1() throws CapException {
        skip(1);
        return data[at - 1] & 0xff;
    }

    int s1() throws CapException {
        return (byte) u1();
    }

    int u2() throws CapException {
        skip(2);
        return (data[at - 2] & 0xff) << 8 | data[at - 1] & 0xff;
    }

    int s2() throws CapException {
        return (short) u2();
    }

    int s4() throws CapException {
        return u2() << 16 | u2();
    }

    /**
     * Returns the next bytes as text: names of classes and methods, which are only compared.
     */
    String text(int bytes) throws CapException {
        skip(bytes);
        return new String(data, at - bytes, bytes, java.nio.charset.StandardCharsets.UTF_8);
    }
}
