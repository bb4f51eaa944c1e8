package sensors.app;

import sensors.util.FixedPoint;

/** Measures the amplitude of one frequency in a window, with Goertzel's algorithm. */
final class ToneDetector {
    private final int coefficient;

    /** {@code coefficient} is 2 cos(2 pi frequency / sampling rate), as a fraction. */
    ToneDetector(int coefficient) {
        this.coefficient = coefficient;
    }

    /** Returns the amplitude, in the samples' unit. */
    int amplitude(Window window) {
        int last = 0;
        int beforeLast = 0;
        for (int i = 0; i < Window.SIZE; i++) {
            int state = window.samples[i] + FixedPoint.multiply(last, coefficient) - beforeLast;
            beforeLast = last;
            last = state;
        }
        last >>= 4; // so that squares fit into 32 bits
        beforeLast >>= 4;
        int power = last * last + beforeLast * beforeLast
                - FixedPoint.multiply(last, coefficient) * beforeLast;
        // 2 / SIZE times the root, with the 4 bits shifted out above
        return FixedPoint.sqrt(power) >> 1;
    }
}
