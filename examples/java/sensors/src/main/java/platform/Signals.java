package platform;

import java.util.Random;

/**
 * The signals at the sensors, in converter counts: the temperature and light of short days, a lamp
 * that is switched on and off, a machine that rests, runs, and at times runs rough. StrictMath gives
 * the same values on every machine.
 */
final class Signals {
    /** Length of a day in seconds. It is short so that a run of 15 minutes has a whole day. */
    private static final double DAY = 900;

    private final Random noise = new Random(6832);

    int at(int channel, long ticks) {
        double seconds = (double) ticks / Machine.SECOND;
        return (int) StrictMath.rint(switch (channel) {
            case Machine.TEMPERATURE -> 2000 + 650 * day(seconds) + gaussian(6);
            case Machine.HUMIDITY -> 1500 - 300 * day(seconds - 60) + gaussian(8);
            case Machine.BATTERY -> 1600 + seconds / 60 + gaussian(2);
            case Machine.LIGHT -> light(seconds);
            case Machine.ACCELERATION -> acceleration(seconds);
            default -> throw new IllegalArgumentException("channel " + channel);
        });
    }

    private double light(double seconds) {
        double sun = 60 + 500 * Math.max(0, day(seconds));
        double phase = seconds % 400;
        boolean lamp = phase > 80 && phase < 190 || phase > 300 && phase < 320;
        return StrictMath.rint(sun / 4) * 4 + (lamp ? 1300 : 0) + gaussian(lamp ? 3 : 0.6);
    }

    private double acceleration(double seconds) {
        double gravity = 2048 + 31;
        double phase = seconds % 450;
        if (phase < 100) {
            return gravity + gaussian(2);
        }
        double rough = phase > 310 && phase < 430 ? 3 : 1;
        return gravity + rough * (180 * tone(seconds, 16) + 60 * tone(seconds, 39.2) + gaussian(12))
                + 40 * tone(seconds, 7.1);
    }

    private static double day(double seconds) {
        return StrictMath.sin(2 * Math.PI * (seconds / DAY - 0.25));
    }

    private static double tone(double seconds, double hertz) {
        return StrictMath.sin(2 * Math.PI * seconds * hertz);
    }

    private double gaussian(double deviation) {
        // A sum of uniform numbers, because newer JDKs do not specify nextGaussian's algorithm.
        double sum = 0;
        for (int i = 0; i < 4; i++) {
            sum += noise.nextInt(2001) - 1000;
        }
        return sum / 1155 * deviation;
    }
}
