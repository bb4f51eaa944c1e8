package sensors.app;

import platform.Machine;
import sensors.config.Dissemination;
import sensors.config.Parameter;
import sensors.driver.HumiditySensor;
import sensors.driver.SampleListener;
import sensors.driver.TemperatureSensor;
import sensors.event.Scheduler;
import sensors.net.Uplink;
import sensors.radio.Frame;
import sensors.util.Filter;
import sensors.util.FixedPoint;
import sensors.util.Hysteresis;
import sensors.util.MovingAverage;
import sensors.util.Statistics;
import sensors.util.Trend;

/**
 * Monitors the air. It sends a report after every few readings, and an alarm when the smoothed
 * temperature gets too high or normal again. Units are hundredths of a degree and of a percent.
 */
public final class EnvironmentMonitor extends Application {
    /** Number of readings in a report. */
    private static final int READINGS = 8;
    private static final int SMOOTHED_READINGS = 4;
    /** The alarm ends when the temperature is this far below the limit. */
    private static final int RELIEF = 150;

    private final HumiditySensor hygrometer;
    private final SampleListener humidityReady = new HumidityReady();
    private final Statistics temperature = new Statistics();
    private final Statistics humidity = new Statistics();
    private final Filter smoothing = new MovingAverage(SMOOTHED_READINGS);
    private final Filter trend = new Trend();
    private final Hysteresis heat = new Hysteresis(RELIEF);
    private int rise;
    private int readings;
    private int reports;

    public EnvironmentMonitor(Scheduler scheduler, Dissemination dissemination, Uplink uplink,
            TemperatureSensor thermometer, HumiditySensor hygrometer) {
        super(scheduler, dissemination, uplink, Port.ENVIRONMENT, thermometer);
        this.hygrometer = hygrometer;
        int interval = parameters[Parameter.ENVIRONMENT_INTERVAL] * Machine.SECOND;
        start(interval, interval);
    }

    /** Receives the temperature, and then requests the humidity. */
    @Override
    public void sampled(int sample) {
        readings++;
        temperature.add(sample);
        rise = trend.next(sample);
        int smoothed = smoothing.next(sample);
        if (heat.switchedBy(smoothed, parameters[Parameter.HOT])) {
            Frame frame = open(Port.ENVIRONMENT_ALARM, readings);
            if (frame != null) {
                frame.put8(heat.active ? 1 : 0);
                frame.put16(smoothed);
                uplink.submit(frame);
            }
        }
        hygrometer.temperature = sample;
        hygrometer.read(humidityReady);
    }

    /** Returns the dew point by Magnus' formula. */
    private static int dewPoint(int temperature, int humidity) {
        // 17.62 T / (243.12 + T) + ln humidity
        int exponent = (temperature * 18043 / (24312 + temperature) << 4)
                + FixedPoint.multiply(FixedPoint.log2(humidity < 1 ? 1 : humidity) - 217706, 11357);
        return 24312 * exponent / (288686 - exponent);
    }

    private final class HumidityReady implements SampleListener {
        @Override
        public void sampled(int sample) {
            humidity.add(sample);
            if (humidity.count < READINGS) {
                return;
            }
            Frame frame = open(Port.ENVIRONMENT_REPORT, reports++);
            if (frame != null) {
                temperature.put(frame);
                humidity.put(frame);
                frame.put16(dewPoint(hygrometer.temperature, sample));
                frame.put16(rise);
                uplink.submit(frame);
            }
            temperature.clear();
            humidity.clear();
            int interval = parameters[Parameter.ENVIRONMENT_INTERVAL] * Machine.SECOND;
            start(interval, interval);
        }
    }
}
