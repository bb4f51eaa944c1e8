package sensors.util;

/** How much values rise over {@link #WINDOW} of them: the line of least squares through the last. */
public final class Trend implements Filter {
    public static final int WINDOW = 8;
    /** Sum of the squared odd distances -7, -5, … 7 from the middle. */
    private static final int SQUARES = 168;

    private final int[] values = new int[WINDOW];
    private int count;

    /** 0 until there are enough values. */
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
