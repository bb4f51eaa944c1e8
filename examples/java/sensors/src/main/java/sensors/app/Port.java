package sensors.app;

/** Ports of the applications and the kinds of their messages. A 16-bit number follows the kind. */
public interface Port {
    int ENVIRONMENT = 1;
    /** Temperature (least, greatest, mean), humidity (the same), dew point, trend of temperature. */
    int ENVIRONMENT_REPORT = 1;
    /** 1 if the alarm begins (1 byte), smoothed temperature. The number is that of readings. */
    int ENVIRONMENT_ALARM = 2;

    int LIGHT = 2;
    /** Samples, compressed. */
    int LIGHT_LOG = 1;
    /** 1 if the lamp was switched on (1 byte). The number is that of the sample. */
    int LIGHT_LAMP = 2;
    /** Light (least, greatest, mean), samples with the lamp on, those in each class (1 byte each). */
    int LIGHT_SUMMARY = 3;

    int VIBRATION = 3;
    /** Peak, effective value, zero crossings (1 byte), amplitudes at 8, 16, 24 and 40 Hz. */
    int VIBRATION_FEATURES = 1;
    /** Samples without their mean, compressed. */
    int VIBRATION_WAVEFORM = 2;
    /** The machine's condition (1 byte). The number is that of the burst. */
    int VIBRATION_CONDITION = 3;

    int STATUS = 4;
    /** Millivolts, then counters of the radio stack. */
    int STATUS_COUNTERS = 1;
}
