package sensors.driver;

import platform.Machine;

/** A thermistor in a voltage divider; hundredths of a degree Celsius. */
public final class TemperatureSensor extends Sensor {
    /** The curve at 0, 512, 1024, … counts; between these points it is taken for straight. */
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
