package sensors.config;

/** Numbers of the parameters that can be set over the air. */
public interface Parameter {
    /** Seconds between readings of temperature and humidity. */
    int ENVIRONMENT_INTERVAL = 0;
    /** Temperature that raises an alarm, in hundredths of a degree. */
    int HOT = 1;
    /** Seconds between samples of the light. */
    int LIGHT_INTERVAL = 2;
    /** Light from which on the lamp counts as switched on. */
    int BRIGHT = 3;
    /** Seconds between bursts of acceleration samples. */
    int VIBRATION_INTERVAL = 4;
    /** Effective value, in thousandths of g, above which the samples themselves are sent. */
    int ROUGH = 5;
    /** Seconds between status messages. */
    int STATUS_INTERVAL = 6;

    int COUNT = 7;
}
