package sensors.util;

/** A filter for a series of values. */
public interface Filter {
    /** Returns the filtered value for the next value. */
    int next(int value);
}
