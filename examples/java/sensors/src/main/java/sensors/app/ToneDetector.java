package sensors.app;

import sensors.util.FixedPoint;

/** How strong one frequency is in a window: Goertzel's algorithm. */
final class ToneDetector {
    private final int coefficient;

    /** {@code coefficient} is 2 cos(2 pi frequency / sampling rate), as a fraction. */
    ToneDetector(int coefficient) {
        this.coefficient = coefficient;
    }

    /** Amplitude, in the samples' unit. */
    int amplitude(Window window) {
        int last = 0;
        int beforeLast = 0;
        for (int i = 0; i < Window.SIZE; i++) {
            int state = window.samples[i] + FixedPoint.multiply(last, coefficient) - beforeLast;
            beforeLast = last;
            last = state;
        }
        last >>= 4; // squares have to stay within 32 bits
        beforeLast >>= 4;
        int power = last * last + beforeLast * beforeLast
                - FixedPoint.multiply(last, coefficient) * beforeLast;
        // 2 / SIZE of the root, which lacks the 4 bits
        return FixedPoint.sqrt(power) >> 1;
    }
}
