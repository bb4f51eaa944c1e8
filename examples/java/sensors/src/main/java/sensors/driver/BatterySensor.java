package sensors.driver;

import platform.Machine;

/** Measures a fixed reference against the supply; millivolts of the supply. */
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
