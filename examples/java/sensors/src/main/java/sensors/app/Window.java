package sensors.app;

import sensors.util.FixedPoint;
import sensors.util.Statistics;

/** The samples of one burst, with their peak, effective value and number of zero crossings. */
final class Window {
    static final int SIZE = 64;

    final short[] samples = new short[SIZE];
    private final Statistics statistics = new Statistics();
    private int count;

    /** Greatest distance from the mean. */
    int peak;
    /** Root of the mean square. */
    int effective;
    int zeroCrossings;

    /** Adds a sample. Returns true if it was the last. */
    boolean add(int sample) {
        samples[count++] = (short) sample;
        statistics.add(sample);
        return count == SIZE;
    }

    /** Subtracts the mean, which is gravity, from the samples, and measures the rest. */
    void analyse() {
        int mean = statistics.sum / SIZE;
        int above = statistics.greatest - mean;
        int below = mean - statistics.least;
        peak = above > below ? above : below;
        int squares = 0;
        boolean wasNegative = false;
        zeroCrossings = 0;
        for (int i = 0; i < SIZE; i++) {
            int sample = samples[i] - mean;
            samples[i] = (short) sample;
            squares += sample * sample;
            boolean isNegative = sample < 0;
            if (isNegative != wasNegative) {
                zeroCrossings++;
                wasNegative = isNegative;
            }
        }
        effective = FixedPoint.sqrt(squares / SIZE);
        count = 0;
        statistics.clear();
    }
}
