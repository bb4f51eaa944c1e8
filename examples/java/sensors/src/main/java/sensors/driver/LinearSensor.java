package sensors.driver;

/** A sensor whose counts only have to be shifted and scaled. */
public final class LinearSensor extends Sensor {
    private final int zero;
    private final int scale;

    /** {@code zero} is in counts; {@code scale} is what 1024 of them are in the sensor's unit. */
    public LinearSensor(Adc adc, int channel, int zero, int scale) {
        super(adc, channel);
        this.zero = zero;
        this.scale = scale;
    }

    @Override
    int convert(int counts) {
        return (counts - zero) * scale >> 10;
    }
}
