package sensors.driver;

/** A sensor at a channel of the converter. A reading is requested now and delivered later. */
public abstract class Sensor {
    private final Adc adc;
    final int channel;
    SampleListener listener;

    Sensor(Adc adc, int channel) {
        this.adc = adc;
        this.channel = channel;
    }

    /** Asks for a sample; one reading of a sensor is under way at a time. */
    public final void read(SampleListener listener) {
        this.listener = listener;
        adc.request(this);
    }

    /** What the converter's 12 bits mean. */
    abstract int convert(int counts);
}
