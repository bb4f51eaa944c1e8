package sensors.util;

/** Packs values of a few bits each into bytes, most significant bit first. */
public class BitWriter {
    private Bytes target;
    private int collected;
    private int vacant;

    /** Appends to {@code target}. */
    public final void begin(Bytes target) {
        this.target = target;
        collected = 0;
        vacant = 8;
    }

    /** Writes the low {@code bits} bits of {@code value}, at most 16. */
    public final void write(int value, int bits) {
        while (bits >= vacant) {
            bits -= vacant;
            target.put8(collected | value >> bits & (1 << vacant) - 1);
            collected = 0;
            vacant = 8;
        }
        vacant -= bits;
        collected |= (value & (1 << bits) - 1) << vacant;
    }

    /** Returns true if this many more bits fit into the target's first {@code limit} bytes. */
    public final boolean fits(int bits, int limit) {
        return (limit - target.length - 1) * 8 + vacant >= bits;
    }

    /** Fills the last byte with zeros. */
    public final void end() {
        if (vacant < 8) {
            target.put8(collected);
        }
    }
}
