package sensors.util;

/** Arithmetic for a processor without floating point; fractions have 14 bits. */
public final class FixedPoint {
    private static final int FRACTION_BITS = 14;
    private static final int ONE = 1 << FRACTION_BITS;

    private FixedPoint() {
    }

    /** {@code a} times a fraction. */
    public static int multiply(int a, int fraction) {
        return (int) ((long) a * fraction >> FRACTION_BITS);
    }

    /** Square root, rounded down; 0 for what is negative. */
    public static int sqrt(int value) {
        int root = 0;
        for (int bit = 1 << 30; bit > 0; bit >>= 2) {
            int trial = root + bit;
            root >>= 1;
            if (value >= trial) {
                value -= trial;
                root += bit;
            }
        }
        return root;
    }

    /** Binary logarithm of a number from 1 to 32767, as a fraction. */
    public static int log2(int value) {
        int logarithm = FRACTION_BITS;
        while (value < ONE) {
            value <<= 1;
            logarithm--;
        }
        // Squaring doubles the logarithm: whenever it gets to 1, that is the next bit.
        for (int bit = 0; bit < FRACTION_BITS; bit++) {
            value = multiply(value, value);
            logarithm <<= 1;
            if (value >= 2 * ONE) {
                value >>= 1;
                logarithm |= 1;
            }
        }
        return logarithm;
    }
}
