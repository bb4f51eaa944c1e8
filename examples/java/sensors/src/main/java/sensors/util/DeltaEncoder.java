package sensors.util;

/**
 * Compresses a series of 16-bit samples without loss, by what changes from one to the next.
 * A prefix states how much follows: {@code 0} nothing has changed; {@code 10} and {@code 110} 4 or
 * 8 bits of change (sign in the lowest bit); {@code 111} the sample itself.
 */
public final class DeltaEncoder extends BitWriter {
    /** Bits of a sample at most. */
    public static final int LONGEST = 3 + 16;

    /** The sample before, which is 0 where a series begins. */
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
