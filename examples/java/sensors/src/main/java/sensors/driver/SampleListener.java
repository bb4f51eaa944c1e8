package sensors.driver;

/** Receives a sample that was requested. */
public interface SampleListener {
    /** {@code sample} is in the sensor's unit. */
    void sampled(int sample);
}
