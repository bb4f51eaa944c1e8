package sensors.driver;

import platform.Machine;

/** A thermistor in a voltage divider, measured in hundredths of a degree Celsius. */
public final class TemperatureSensor extends Sensor {
    /** The temperature at 0, 512, 1024, … counts. Between them it is interpolated linearly. */
    private static final short[] CURVE = {-4000, -1200, 200, 1150, 2000, 2850, 3850, 5400, 8500};

    public TemperatureSensor(Adc adc) {
        super(adc, Machine.TEMPERATURE);
    }

    @Override
    int convert(int counts) {
        int left = counts >> 9;
        int rise = CURVE[left + 1] - CURVE[left];
        return CURVE[left] + (rise * (counts & 511) >> 9);
    }
}
