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

    /** Requests a sample. A sensor has at most one request at a time. */
    public final void read(SampleListener listener) {
        this.listener = listener;
        adc.request(this);
    }

    /** Returns the value of a count of the converter, which has 12 bits. */
    abstract int convert(int counts);
}
