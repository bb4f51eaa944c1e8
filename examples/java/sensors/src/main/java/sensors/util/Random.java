package sensors.util;

/** Numbers that spread motes apart in time: a 16-bit xorshift, as good as backoffs need. */
public final class Random {
    private int state;

    /** {@code seed} is not 0; a mote takes its address. */
    public Random(int seed) {
        state = seed;
    }

    /** A number from 0 to {@code bound} - 1. */
    public int below(int bound) {
        state ^= state << 7 & 0xffff;
        state ^= state >> 9;
        state ^= state << 8 & 0xffff;
        return state % bound;
    }
}
