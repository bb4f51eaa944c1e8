package cards.pki;

import javacard.framework.ISO7816;
import javacard.framework.ISOException;
import javacard.framework.OwnerPIN;

/**
 * The PINs: 1 is the holder's, 2 the issuer's, and 3 the PUK, which unblocks the holder's. Each
 * has eight bytes: digits in ASCII, padded with FF.
 */
final class Access {
    static final byte HOLDER = 1;
    static final byte ISSUER = 2;
    static final byte PUK = 3;
    static final byte PIN_BYTES = 8;

    private static final byte LEAST_DIGITS = 4;

    private final OwnerPIN[] pins;
    private byte set;

    Access(byte[] issuerPin, short offset) {
        pins = new OwnerPIN[(short) 4];
        pins[HOLDER] = new OwnerPIN((byte) 3, PIN_BYTES);
        pins[ISSUER] = new OwnerPIN((byte) 5, PIN_BYTES);
        pins[PUK] = new OwnerPIN((byte) 10, PIN_BYTES);
        checkForm(issuerPin, offset);
        pins[ISSUER].update(issuerPin, offset, PIN_BYTES);
        set = (byte) (1 << ISSUER);
    }

    /** Returns the PIN that the reference byte of a command names: 81, 82 or 83. */
    byte number(byte reference) {
        byte number = (byte) (reference & 0x0F);
        if ((byte) (reference & 0xF0) != (byte) 0x80 || number < HOLDER || number > PUK) {
            ISOException.throwIt(ISO7816.SW_INCORRECT_P1P2);
        }
        return number;
    }

    boolean isValidated(byte number) {
        return pins[number].isValidated();
    }

    boolean isBlocked(byte number) {
        return pins[number].getTriesRemaining() == 0;
    }

    /** Verifies a PIN. Throws 63Cx or 6983 if it is wrong, and 6A88 if it was never set. */
    void verify(byte number, byte[] data, short offset) {
        if ((byte) ((set >> number) & 1) == 0) {
            ISOException.throwIt(PkiApplet.SW_NOT_THERE);
        }
        checkForm(data, offset);
        if (isBlocked(number)) {
            ISOException.throwIt(PkiApplet.SW_BLOCKED);
        }
        if (!pins[number].check(data, offset, PIN_BYTES)) {
            refuse(number);
        }
    }

    /** Throws 63Cx, where x is the number of tries that are left. */
    void refuse(byte number) {
        byte tries = pins[number].getTriesRemaining();
        ISOException.throwIt(tries == 0 ? PkiApplet.SW_BLOCKED : (short) (PkiApplet.SW_TRIES_LEFT | tries));
    }

    /** Sets a PIN, and restores its tries. */
    void set(byte number, byte[] data, short offset) {
        checkForm(data, offset);
        pins[number].update(data, offset, PIN_BYTES);
        set |= (byte) (1 << number);
    }

    /** Revokes the validation of one PIN. */
    void forget(byte number) {
        if (pins[number].isValidated()) {
            pins[number].reset();
        }
    }

    /** Revokes all validations. */
    void forgetAll() {
        forget(HOLDER);
        forget(ISSUER);
        forget(PUK);
    }

    /** Returns true if a condition of a file is fulfilled. */
    boolean allows(byte condition) {
        if (condition == FileNode.ALWAYS) {
            return true;
        }
        if (condition == FileNode.NEVER) {
            return false;
        }
        byte number = (byte) (condition & 0x0F);
        return number >= HOLDER && number <= PUK && pins[number].isValidated();
    }

    private static void checkForm(byte[] data, short offset) {
        byte digits = 0;
        while (digits < PIN_BYTES && data[(short) (offset + digits)] >= (byte) '0'
                && data[(short) (offset + digits)] <= (byte) '9') {
            digits++;
        }
        boolean right = digits >= LEAST_DIGITS;
        for (byte i = digits; i < PIN_BYTES; i++) {
            right &= data[(short) (offset + i)] == (byte) 0xFF;
        }
        if (!right) {
            ISOException.throwIt(ISO7816.SW_WRONG_DATA);
        }
    }
}
