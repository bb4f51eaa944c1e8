package cards.purse;

import javacard.framework.Util;

/** Amounts of money: unsigned numbers of four bytes, highest first, in the currency's smallest unit. */
final class Amount {
    static final short SIZE = 4;

    private Amount() {
    }

    /** Adds two amounts. Returns true if the sum overflows; it is then truncated. */
    static boolean add(byte[] a, short aAt, byte[] b, short bAt, byte[] sum, short sumAt) {
        short carry = 0;
        for (short i = (short) (SIZE - 1); i >= 0; i--) {
            carry = (short) ((short) ((short) (a[(short) (aAt + i)] & 0xFF) + (short) (b[(short) (bAt + i)] & 0xFF))
                    + carry);
            sum[(short) (sumAt + i)] = (byte) carry;
            carry = (short) ((carry >> 8) & 0xFF);
        }
        return carry != 0;
    }

    /** Subtracts {@code b} from {@code a}. Returns true if {@code b} is larger. */
    static boolean subtract(byte[] a, short aAt, byte[] b, short bAt, byte[] rest, short restAt) {
        short borrow = 0;
        for (short i = (short) (SIZE - 1); i >= 0; i--) {
            short digit = (short) ((short) ((short) (a[(short) (aAt + i)] & 0xFF)
                    - (short) (b[(short) (bAt + i)] & 0xFF)) - borrow);
            rest[(short) (restAt + i)] = (byte) digit;
            borrow = (digit < 0) ? (short) 1 : (short) 0;
        }
        return borrow != 0;
    }

    /** Returns true if {@code a} is more than {@code b}. */
    static boolean exceeds(byte[] a, short aAt, byte[] b, short bAt) {
        return Util.arrayCompare(a, aAt, b, bAt, SIZE) > 0;
    }

    /** Returns true if the amount is zero. */
    static boolean isZero(byte[] a, short aAt) {
        for (short i = 0; i < SIZE; i++) {
            if (a[(short) (aAt + i)] != 0) {
                return false;
            }
        }
        return true;
    }
}
