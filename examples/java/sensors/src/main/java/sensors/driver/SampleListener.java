package sensors.driver;

/** Is told of a sample that was asked for. */
public interface SampleListener {
    /** {@code sample} is in the sensor's unit. */
    void sampled(int sample);
}
