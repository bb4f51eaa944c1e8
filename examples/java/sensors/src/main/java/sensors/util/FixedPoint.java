package sensors.util;

/** Arithmetic for a processor without floating point; fractions have 14 bits. */
public final class FixedPoint {
    private static final int FRACTION_BITS = 14;
    private static final int ONE = 1 << FRACTION_BITS;

    private FixedPoint() {
    }

    /** Returns {@code a} times a fraction. */
    public static int multiply(int a, int fraction) {
        return (int) ((long) a * fraction >> FRACTION_BITS);
    }

    /** Returns the square root, rounded down; 0 for a negative number. */
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

    /** Returns the binary logarithm of a number from 1 to 32767, as a fraction. */
    public static int log2(int value) {
        int logarithm = FRACTION_BITS;
        while (value < ONE) {
            value <<= 1;
            logarithm--;
        }
        // Squaring doubles the logarithm. If that reaches 1, the next bit is 1.
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
