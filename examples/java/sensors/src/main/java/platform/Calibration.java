package platform;

import java.util.List;

/** Conversions of converter counts to physical units, from the sensors' data sheets. */
final class Calibration {
    private static final int[] TEMPERATURES = {-4000, -1200, 200, 1150, 2000, 2850, 3850, 5400, 8500};

    private Calibration() {
    }

    static int temperature(int counts) {
        int left = counts / 512;
        int rise = TEMPERATURES[left + 1] - TEMPERATURES[left];
        return TEMPERATURES[left] + (int) Math.floor(rise * (counts % 512) / 512.0);
    }

    static int humidity(int counts, int temperature) {
        long slope = 60129 - counts * 2677L / 1024;
        long linear = Math.floorDiv(counts * slope, 16384L) - 205;
        return (int) (linear + Math.floorDiv((temperature - 2500) * (164 + counts * 21L / 16), 16384L));
    }

    static int battery(int counts) {
        return 1223 * 4096 / (counts + 1);
    }

    /** Returns the dew point in °C by Magnus' formula, from °C and percent. */
    static double dewPoint(double temperature, double humidity) {
        double exponent = StrictMath.log(humidity / 100) + 17.62 * temperature / (243.12 + temperature);
        return 243.12 * exponent / (17.62 - exponent);
    }

    static int light(int counts) {
        return counts - 24;
    }

    /** Returns the samples of the burst that starts at {@code first}, minus their mean. */
    static double[] burst(List<Integer> counts, int first) {
        int[] samples = new int[64];
        int sum = 0;
        for (int i = 0; i < samples.length; i++) {
            samples[i] = (int) Math.floor((counts.get(first + i) - 2048) * 1000 / 1024.0);
            sum += samples[i];
        }
        double[] centred = new double[samples.length];
        for (int i = 0; i < samples.length; i++) {
            centred[i] = samples[i] - sum / samples.length;
        }
        return centred;
    }

    /** Returns the amplitude of the tone of {@code cycles} cycles per burst, by a Fourier sum. */
    static double amplitude(double[] burst, int cycles) {
        double real = 0;
        double imaginary = 0;
        for (int i = 0; i < burst.length; i++) {
            double angle = 2 * Math.PI * cycles * i / burst.length;
            real += burst[i] * StrictMath.cos(angle);
            imaginary += burst[i] * StrictMath.sin(angle);
        }
        return StrictMath.hypot(real, imaginary) * 2 / burst.length;
    }
}
