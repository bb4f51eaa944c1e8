package cards.purse;

import javacard.framework.JCSystem;
import javacard.framework.Util;
import javacardx.crypto.Cipher;

/**
 * Retail MACs (ISO 9797-1 algorithm 3 with padding method 2), and the other operations of the purse
 * with DES. This class chains the blocks; the coprocessor processes single blocks.
 */
final class MacEngine {
    static final short BLOCK = 8;

    private final Cipher cipher;
    private final byte[] chain;
    private final byte[] filled;
    private final Object[] key;

    MacEngine() {
        cipher = Cipher.getInstance(Cipher.ALG_DES_ECB_NOPAD, false);
        chain = JCSystem.makeTransientByteArray(PurseKey.BYTES, JCSystem.CLEAR_ON_DESELECT);
        filled = JCSystem.makeTransientByteArray((short) 1, JCSystem.CLEAR_ON_DESELECT);
        key = JCSystem.makeTransientObjectArray((short) 1, JCSystem.CLEAR_ON_DESELECT);
    }

    /** Begins a MAC. */
    void begin(PurseKey with) {
        key[0] = with;
        filled[0] = 0;
        Util.arrayFillNonAtomic(chain, (short) 0, BLOCK, (byte) 0);
        cipher.init(with.left(), Cipher.MODE_ENCRYPT);
    }

    /** Adds data to the MAC. */
    void update(byte[] data, short offset, short length) {
        short end = (short) (offset + length);
        byte at = filled[0];
        for (; offset < end; offset++) {
            chain[at] ^= data[offset];
            at++;
            if (at == (byte) BLOCK) {
                cipher.doFinal(chain, (short) 0, BLOCK, chain, (short) 0);
                at = 0;
            }
        }
        filled[0] = at;
    }

    /** Adds a byte to the MAC. */
    void update(byte data) {
        byte at = filled[0];
        chain[at] ^= data;
        at++;
        if (at == (byte) BLOCK) {
            cipher.doFinal(chain, (short) 0, BLOCK, chain, (short) 0);
            at = 0;
        }
        filled[0] = at;
    }

    /** Ends the MAC, and writes its first bytes. */
    short finish(byte[] out, short offset, short length) {
        seal();
        return Util.arrayCopyNonAtomic(chain, (short) 0, out, offset, length);
    }

    /** Ends the MAC, and returns true if it begins with these bytes. */
    boolean matches(byte[] mac, short offset, short length) {
        seal();
        boolean same = Util.arrayCompare(chain, (short) 0, mac, offset, length) == 0;
        Util.arrayFillNonAtomic(chain, (short) 0, BLOCK, (byte) 0);
        return same;
    }

    private void seal() {
        PurseKey with = (PurseKey) key[0];
        chain[filled[0]] ^= (byte) 0x80;
        cipher.doFinal(chain, (short) 0, BLOCK, chain, (short) 0);
        cipher.init(with.right(), Cipher.MODE_DECRYPT);
        cipher.doFinal(chain, (short) 0, BLOCK, chain, (short) 0);
        cipher.init(with.left(), Cipher.MODE_ENCRYPT);
        cipher.doFinal(chain, (short) 0, BLOCK, chain, (short) 0);
        key[0] = null;
    }

    /** Derives a session key from eight bytes that were never used before. */
    void derive(PurseKey from, byte[] seed, short offset, PurseKey session) {
        for (short i = 0; i < BLOCK; i++) {
            byte b = seed[(short) (offset + i)];
            chain[i] = b;
            chain[(short) (i + BLOCK)] = (byte) ~b;
        }
        encrypt(from, chain, (short) 0, PurseKey.BYTES, chain, (short) 0);
        session.set(chain, (short) 0);
        Util.arrayFillNonAtomic(chain, (short) 0, PurseKey.BYTES, (byte) 0);
    }

    /** Encrypts whole blocks with triple DES. */
    void encrypt(PurseKey with, byte[] in, short inAt, short length, byte[] out, short outAt) {
        cipher.init(with.whole(), Cipher.MODE_ENCRYPT);
        cipher.doFinal(in, inAt, length, out, outAt);
    }

    /** Decrypts whole blocks with triple DES. */
    void decrypt(PurseKey with, byte[] in, short inAt, short length, byte[] out, short outAt) {
        cipher.init(with.whole(), Cipher.MODE_DECRYPT);
        cipher.doFinal(in, inAt, length, out, outAt);
    }
}
