package sensors.util;

/** A 16-bit xorshift generator, good enough for random delays. */
public final class Random {
    private int state;

    /** Makes a generator. {@code seed} must not be 0; a mote uses its address. */
    public Random(int seed) {
        state = seed;
    }

    /** Returns a number from 0 to {@code bound} - 1. */
    public int below(int bound) {
        state ^= state << 7 & 0xffff;
        state ^= state >> 9;
        state ^= state << 8 & 0xffff;
        return state % bound;
    }
}
