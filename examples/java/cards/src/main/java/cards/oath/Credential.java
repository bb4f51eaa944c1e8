package cards.oath;

import javacard.framework.JCSystem;
import javacard.framework.Util;

/** A credential: its name, key and type, and its counter if it counts. The object is reused. */
final class Credential {
    static final short NAME_BYTES = 64;
    static final short COUNTER_BYTES = 8;

    /** High nibble of the type byte: passwords by counter or by time. */
    static final byte HOTP = (byte) 0x10;
    static final byte TOTP = (byte) 0x20;
    /** Low nibble of the type byte: the digest. */
    static final byte SHA1 = (byte) 0x01;
    static final byte SHA256 = (byte) 0x02;

    /** Property: challenges must increase. */
    static final byte INCREASING = (byte) 0x01;

    private final byte[] name = new byte[NAME_BYTES];
    private final byte[] key = new byte[Hmac.BLOCK];
    private final byte[] factor = new byte[COUNTER_BYTES];
    private short nameLength;
    private short keyLength;
    private byte type;
    private byte digits;
    private byte properties;
    private boolean used;

    boolean isUsed() {
        return used;
    }

    boolean isNamed(byte[] buffer, short offset, short length) {
        return used && length == nameLength && Util.arrayCompare(name, (short) 0, buffer, offset, length) == 0;
    }

    /** Sets the name. For this and the other setters, the caller opens a transaction. */
    void setName(byte[] buffer, short offset, short length) {
        Util.arrayCopy(buffer, offset, name, (short) 0, length);
        nameLength = length;
        used = true;
    }

    void setKey(byte type, byte digits, byte[] buffer, short offset, short length) {
        Util.arrayCopy(buffer, offset, key, (short) 0, length);
        keyLength = length;
        this.type = type;
        this.digits = digits;
    }

    void setProperties(byte properties) {
        this.properties = properties;
    }

    /** Sets the initial moving factor: four bytes, or none for zero. */
    void setFactor(byte[] buffer, short offset, short length) {
        Util.arrayFillNonAtomic(factor, (short) 0, COUNTER_BYTES, (byte) 0);
        Util.arrayCopy(buffer, offset, factor, (short) (COUNTER_BYTES - length), length);
    }

    void delete() {
        JCSystem.beginTransaction();
        used = false;
        nameLength = 0;
        keyLength = 0;
        JCSystem.commitTransaction();
        Util.arrayFillNonAtomic(key, (short) 0, Hmac.BLOCK, (byte) 0);
    }

    byte type() {
        return type;
    }

    byte algorithm() {
        return (byte) (type & 0x0F);
    }

    boolean counts() {
        return (byte) (type & 0xF0) == HOTP;
    }

    byte digits() {
        return digits;
    }

    short nameLength() {
        return nameLength;
    }

    short copyName(byte[] out, short offset) {
        return Util.arrayCopyNonAtomic(name, (short) 0, out, offset, nameLength);
    }

    byte[] key() {
        return key;
    }

    short keyLength() {
        return keyLength;
    }

    byte[] factor() {
        return factor;
    }

    /** Increments the counter, in one write. */
    void step() {
        JCSystem.beginTransaction();
        for (short i = (short) (COUNTER_BYTES - 1); i >= 0; i--) {
            factor[i]++;
            if (factor[i] != 0) {
                break;
            }
        }
        JCSystem.commitTransaction();
    }

    /** Returns true if a challenge is allowed, and stores it if challenges must increase. */
    boolean accepts(byte[] challenge, short offset, short length) {
        if ((byte) (properties & INCREASING) == 0) {
            return true;
        }
        if (length != COUNTER_BYTES || Util.arrayCompare(challenge, offset, factor, (short) 0, COUNTER_BYTES) < 0) {
            return false;
        }
        Util.arrayCopy(challenge, offset, factor, (short) 0, COUNTER_BYTES);
        return true;
    }
}
