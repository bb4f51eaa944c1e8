package cards.purse;

import javacard.framework.ISOException;
import javacard.security.DESKey;
import javacard.security.KeyBuilder;

/**
 * A key of 16 bytes for two-key triple DES, with its halves for retail MACs, a version and a
 * counter of wrong MACs.
 */
final class PurseKey {
    static final short BYTES = 16;
    private static final byte TRY_LIMIT = 3;

    private final DESKey whole;
    private final DESKey left;
    private final DESKey right;
    private byte version;
    private byte triesLeft;

    /** Makes a persistent key, or a session key, which lies in RAM. */
    PurseKey(boolean session) {
        byte type = session ? KeyBuilder.TYPE_DES_TRANSIENT_DESELECT : KeyBuilder.TYPE_DES;
        whole = (DESKey) KeyBuilder.buildKey(type, KeyBuilder.LENGTH_DES3_2KEY, false);
        left = (DESKey) KeyBuilder.buildKey(type, KeyBuilder.LENGTH_DES, false);
        right = (DESKey) KeyBuilder.buildKey(type, KeyBuilder.LENGTH_DES, false);
        triesLeft = TRY_LIMIT;
    }

    /** Sets the key's bytes. */
    void set(byte[] value, short offset) {
        whole.setKey(value, offset);
        left.setKey(value, offset);
        right.setKey(value, (short) (offset + 8));
    }

    void setVersion(byte version) {
        this.version = version;
    }

    byte version() {
        return version;
    }

    /** Throws 6A88 if the key was never written, and 6983 after too many wrong MACs. */
    void checkUsable() {
        if (!whole.isInitialized()) {
            ISOException.throwIt(PurseApplet.SW_KEY_NOT_FOUND);
        }
        if (triesLeft == 0) {
            ISOException.throwIt(PurseApplet.SW_BLOCKED);
        }
    }

    /** Counts a right or wrong MAC. For a wrong one it throws 63Cx, where x tries are left. */
    void verified(boolean right) {
        if (right) {
            if (triesLeft != TRY_LIMIT) {
                triesLeft = TRY_LIMIT;
            }
            return;
        }
        triesLeft--;
        ISOException.throwIt((short) (PurseApplet.SW_TRIES_LEFT | triesLeft));
    }

    void unblock() {
        triesLeft = TRY_LIMIT;
    }

    DESKey whole() {
        return whole;
    }

    DESKey left() {
        return left;
    }

    DESKey right() {
        return right;
    }
}
