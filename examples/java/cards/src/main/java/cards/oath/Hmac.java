package cards.oath;

import javacard.framework.JCSystem;
import javacard.framework.Util;
import javacard.security.MessageDigest;

/** HMAC (RFC 2104) over a message digest with blocks of 64 bytes. */
final class Hmac {
    /** The most bytes of a key; a longer one is hashed before it is stored. */
    static final short BLOCK = 64;

    private static final byte INNER = (byte) 0x36;
    private static final byte OUTER = (byte) 0x5C;

    private final byte[] pad;

    Hmac() {
        pad = JCSystem.makeTransientByteArray(BLOCK, JCSystem.CLEAR_ON_DESELECT);
    }

    /** Computes the MAC of a message, and returns the MAC's length. */
    short mac(MessageDigest with, byte[] key, short keyAt, short keyLength,
            byte[] message, short offset, short length, byte[] out, short outAt) {
        with.reset();
        fill(key, keyAt, keyLength, INNER);
        with.update(pad, (short) 0, BLOCK);
        short bytes = with.doFinal(message, offset, length, out, outAt);
        fill(key, keyAt, keyLength, OUTER);
        with.update(pad, (short) 0, BLOCK);
        with.doFinal(out, outAt, bytes, out, outAt);
        Util.arrayFillNonAtomic(pad, (short) 0, BLOCK, (byte) 0);
        return bytes;
    }

    private void fill(byte[] key, short keyAt, short keyLength, byte with) {
        for (short i = 0; i < keyLength; i++) {
            pad[i] = (byte) (key[(short) (keyAt + i)] ^ with);
        }
        Util.arrayFillNonAtomic(pad, keyLength, (short) (BLOCK - keyLength), with);
    }
}
