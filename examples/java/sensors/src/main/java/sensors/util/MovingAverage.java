package sensors.util;

/** The mean of the last values, or of all of them while there are fewer. */
public final class MovingAverage implements Filter {
    private final int[] values;
    private int place;
    private int count;
    private int sum;

    public MovingAverage(int window) {
        values = new int[window];
    }

    @Override
    public int next(int value) {
        sum += value - values[place];
        values[place] = value;
        if (++place == values.length) {
            place = 0;
        }
        if (count < values.length) {
            count++;
        }
        return sum / count;
    }
}
