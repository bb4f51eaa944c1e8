package sensors.util;

/**
 * Compresses a series of 16-bit samples without loss, by their differences. A prefix states what
 * follows: {@code 0}: nothing, as the difference is 0; {@code 10}, {@code 110}: 4 or 8 bits of
 * difference, with the sign in the lowest bit; {@code 111}: the sample itself.
 */
public final class DeltaEncoder extends BitWriter {
    /** The most bits that a sample takes. */
    public static final int LONGEST = 3 + 16;

    /** The previous sample, or 0 at the start of a series. */
    public int previous;

    public void add(int sample) {
        int change = sample - previous;
        int folded = change << 1 ^ change >> 31;
        if (folded == 0) {
            write(0, 1);
        } else if (folded < 1 << 4) {
            write(0b10 << 4 | folded, 6);
        } else if (folded < 1 << 8) {
            write(0b110 << 8 | folded, 11);
        } else {
            write(0b111, 3);
            write(sample, 16);
        }
        previous = sample;
    }
}
