package sensors.driver;

import platform.Machine;

/** Measures the supply in millivolts, by comparison with a fixed reference. */
public final class BatterySensor extends Sensor {
    private static final int REFERENCE = 1223;

    public BatterySensor(Adc adc) {
        super(adc, Machine.BATTERY);
    }

    @Override
    int convert(int counts) {
        return (REFERENCE << 12) / (counts + 1);
    }
}
