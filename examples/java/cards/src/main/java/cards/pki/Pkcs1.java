package cards.pki;

import javacard.framework.ISO7816;
import javacard.framework.ISOException;
import javacard.framework.JCSystem;
import javacard.framework.Util;
import javacard.security.PrivateKey;
import javacardx.crypto.Cipher;

/** The padding of PKCS#1 v1.5, for a card whose RSA has none: signatures and decipherment. */
final class Pkcs1 {
    static final byte RAW = 0;
    static final byte SHA1 = 1;
    static final byte SHA256 = 4;

    private static final short LEAST_FILL = 8;
    private static final byte[] INFO_SHA1 = {
        0x30, 0x21, 0x30, 0x09, 0x06, 0x05, 0x2B, 0x0E, 0x03, 0x02, 0x1A, 0x05, 0x00, 0x04, 0x14,
    };
    private static final byte[] INFO_SHA256 = {
        0x30, 0x31, 0x30, 0x0D, 0x06, 0x09, 0x60, (byte) 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01,
        0x05, 0x00, 0x04, 0x20,
    };

    private final Cipher rsa;
    private final byte[] block;

    Pkcs1() {
        rsa = Cipher.getInstance(Cipher.ALG_RSA_NOPAD, false);
        block = JCSystem.makeTransientByteArray(KeyObject.MODULUS_BYTES, JCSystem.CLEAR_ON_DESELECT);
    }

    /** Signs a digest, or with RAW a given DigestInfo. Returns the length of the signature. */
    short sign(PrivateKey key, byte digest, byte[] data, short offset, short length, byte[] out, short outAt) {
        byte[] info = null;
        short infoLength = 0;
        switch (digest) {
            case SHA1:
                info = INFO_SHA1;
                break;
            case SHA256:
                info = INFO_SHA256;
                break;
            default:
                break;
        }
        if (info != null) {
            infoLength = (short) info.length;
            if (length != (short) (info[(short) (infoLength - 1)] & 0xFF)) {
                ISOException.throwIt(ISO7816.SW_WRONG_LENGTH);
            }
        }
        short fill = (short) ((short) (KeyObject.MODULUS_BYTES - 3) - (short) (infoLength + length));
        if (fill < LEAST_FILL) {
            ISOException.throwIt(ISO7816.SW_WRONG_LENGTH);
        }
        block[0] = 0;
        block[1] = 1;
        Util.arrayFillNonAtomic(block, (short) 2, fill, (byte) 0xFF);
        short at = (short) (fill + 2);
        block[at++] = 0;
        if (info != null) {
            at = Util.arrayCopyNonAtomic(info, (short) 0, block, at, infoLength);
        }
        Util.arrayCopyNonAtomic(data, offset, block, at, length);
        raise(key);
        return (short) (Util.arrayCopyNonAtomic(block, (short) 0, out, outAt, KeyObject.MODULUS_BYTES) - outAt);
    }

    /** Deciphers, and removes the padding. Throws 6A80 if there is none. */
    short decipher(PrivateKey key, byte[] data, short offset, byte[] out, short outAt) {
        Util.arrayCopyNonAtomic(data, offset, block, (short) 0, KeyObject.MODULUS_BYTES);
        raise(key);
        boolean right = block[0] == 0 && block[1] == 2;
        short at = 2;
        while (at < KeyObject.MODULUS_BYTES && block[at] != 0) {
            at++;
        }
        if (!right || at == KeyObject.MODULUS_BYTES || at < (short) (LEAST_FILL + 2)) {
            clear();
            ISOException.throwIt(ISO7816.SW_WRONG_DATA);
        }
        at++;
        short length = (short) (KeyObject.MODULUS_BYTES - at);
        Util.arrayCopyNonAtomic(block, at, out, outAt, length);
        clear();
        return length;
    }

    // Some cards omit leading zeros of the result.
    private void raise(PrivateKey key) {
        rsa.init(key, Cipher.MODE_DECRYPT);
        short length = rsa.doFinal(block, (short) 0, KeyObject.MODULUS_BYTES, block, (short) 0);
        short missing = (short) (KeyObject.MODULUS_BYTES - length);
        if (missing > 0) {
            Util.arrayCopyNonAtomic(block, (short) 0, block, missing, length);
            Util.arrayFillNonAtomic(block, (short) 0, missing, (byte) 0);
        }
    }

    private void clear() {
        Util.arrayFillNonAtomic(block, (short) 0, KeyObject.MODULUS_BYTES, (byte) 0);
    }
}
