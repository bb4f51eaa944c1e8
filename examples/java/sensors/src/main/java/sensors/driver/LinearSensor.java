package sensors.driver;

/** A sensor whose value is linear in converter counts. */
public final class LinearSensor extends Sensor {
    private final int zero;
    private final int scale;

    /** {@code zero} is the count of value 0, {@code scale} the value of 1024 counts above it. */
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
