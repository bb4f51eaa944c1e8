package sensors.util;

/** The rise over the last {@link #WINDOW} values, of a line fitted by least squares. */
public final class Trend implements Filter {
    public static final int WINDOW = 8;
    /** Sum of the squares of -7, -5, … 7, the doubled distances from the middle. */
    private static final int SQUARES = 168;

    private final int[] values = new int[WINDOW];
    private int count;

    /** Returns the rise, or 0 while there are too few values. */
    @Override
    public int next(int value) {
        values[count++ & WINDOW - 1] = value;
        if (count < WINDOW) {
            return 0;
        }
        int weighted = 0;
        for (int i = 0; i < WINDOW; i++) {
            weighted += values[count + i & WINDOW - 1] * (2 * i - (WINDOW - 1));
        }
        return weighted * 2 * WINDOW / SQUARES;
    }
}
