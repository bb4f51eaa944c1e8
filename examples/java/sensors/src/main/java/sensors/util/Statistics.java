package sensors.util;

/** Least, greatest and mean of the added values. All are 0 if there are none. */
public final class Statistics {
    public int count;
    public int least;
    public int greatest;
    public int sum;

    public void add(int value) {
        if (count == 0 || value < least) {
            least = value;
        }
        if (count == 0 || value > greatest) {
            greatest = value;
        }
        sum += value;
        count++;
    }

    public void clear() {
        count = 0;
        sum = 0;
    }

    /** Appends least, greatest and mean value to a message, 16 bits each. */
    public void put(Bytes target) {
        target.put16(least);
        target.put16(greatest);
        target.put16(sum / count);
    }
}
