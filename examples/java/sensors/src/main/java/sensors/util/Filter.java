package sensors.util;

/** Makes a new series of values out of another one. */
public interface Filter {
    /** Takes a value in and gives the one that comes out. */
    int next(int value);
}
