package sensors.driver;

import platform.Machine;
import sensors.util.FixedPoint;

/** A capacitive sensor of relative humidity, in hundredths of a percent. */
public final class HumiditySensor extends Sensor {
    /** Temperature for which the sensor's curve holds, in hundredths of a degree. */
    private static final int NOMINAL = 2500;

    /** Temperature of the air in hundredths of a degree, by which the reading is corrected. */
    public int temperature;

    public HumiditySensor(Adc adc) {
        super(adc, Machine.HUMIDITY);
    }

    @Override
    int convert(int counts) {
        // 3.67 - 0.00016 counts, and (0.01 + 0.00008 counts) per degree
        int linear = FixedPoint.multiply(counts, 60129 - (counts * 2677 >> 10)) - 205;
        return linear + FixedPoint.multiply(temperature - NOMINAL, 164 + (counts * 21 >> 4));
    }
}
