package cards.pki;

import cards.lib.TlvWriter;
import javacard.framework.ISO7816;
import javacard.framework.ISOException;
import javacard.framework.Util;

/** An elementary file of bytes. */
final class TransparentFile extends FileNode {
    private final byte[] data;

    TransparentFile(short id, byte shortId, short size) {
        super(TYPE_TRANSPARENT, id, shortId);
        data = new byte[size];
    }

    byte[] data() {
        return data;
    }

    short size() {
        return (short) data.length;
    }

    /** Throws 6B00 if an offset is not in the file. */
    void checkOffset(short offset) {
        if (offset < 0 || offset >= (short) data.length) {
            ISOException.throwIt(ISO7816.SW_WRONG_P1P2);
        }
    }

    /** Writes bytes. Throws 6A84 if they do not fit. */
    void update(short at, byte[] from, short offset, short length) {
        checkOffset(at);
        if (length > (short) ((short) data.length - at)) {
            ISOException.throwIt(ISO7816.SW_FILE_FULL);
        }
        Util.arrayCopy(from, offset, data, at, length);
    }

    /** Sets bytes to zero. */
    void erase(short from, short to) {
        Util.arrayFillNonAtomic(data, from, (short) (to - from), (byte) 0);
    }

    @Override
    short describe(byte[] out, short at) {
        at = TlvWriter.objectByte(out, at, TAG_DESCRIPTOR, TYPE_TRANSPARENT);
        return TlvWriter.objectShort(out, at, TAG_SIZE, (short) data.length);
    }
}
