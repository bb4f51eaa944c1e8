package sensors.util;

/** A threshold that noise does not toggle: it switches off at a lower value than on. */
public final class Hysteresis {
    private final int width;
    public boolean active;

    public Hysteresis(int width) {
        this.width = width;
    }

    /** Returns true if {@code value} switched it. It switches on at {@code threshold}. */
    public boolean switchedBy(int value, int threshold) {
        boolean now = value >= (active ? threshold - width : threshold);
        if (now == active) {
            return false;
        }
        active = now;
        return true;
    }
}
