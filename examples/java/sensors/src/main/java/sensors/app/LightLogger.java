package sensors.app;

import platform.Machine;
import sensors.config.Dissemination;
import sensors.config.Parameter;
import sensors.driver.Sensor;
import sensors.event.Scheduler;
import sensors.net.Uplink;
import sensors.radio.Frame;
import sensors.util.Hysteresis;
import sensors.util.Statistics;

/**
 * Sends all samples of the light in a room, reports when a lamp is switched, and sends a summary at
 * regular intervals. Light is in converter counts above those of darkness.
 */
public final class LightLogger extends Application {
    /** Number of samples in a summary. */
    private static final int SAMPLES = 150;
    private static final int CLASSES = 8;
    private static final int CLASS_SHIFT = 8;
    private static final int FLICKER = 200;

    private final SampleLog log = new SampleLog(this, Port.LIGHT_LOG);
    private final Hysteresis lamp = new Hysteresis(FLICKER);
    private final Statistics light = new Statistics();
    private final byte[] classes = new byte[CLASSES];
    private int litSamples;
    private int summaries;

    public LightLogger(Scheduler scheduler, Dissemination dissemination, Uplink uplink, Sensor sensor) {
        super(scheduler, dissemination, uplink, Port.LIGHT, sensor);
        int interval = parameters[Parameter.LIGHT_INTERVAL] * Machine.SECOND;
        start(interval, interval);
    }

    @Override
    public void sampled(int sample) {
        if (lamp.switchedBy(sample, parameters[Parameter.BRIGHT])) {
            Frame frame = open(Port.LIGHT_LAMP, log.position);
            if (frame != null) {
                frame.put8(lamp.active ? 1 : 0);
                uplink.submit(frame);
            }
        }
        if (lamp.active) {
            litSamples++;
        }
        log.add(sample);
        light.add(sample);
        int brightness = sample < 0 ? 0 : sample >> CLASS_SHIFT;
        classes[brightness < CLASSES ? brightness : CLASSES - 1]++;
        if (light.count == SAMPLES) {
            summarise();
        }
    }

    private void summarise() {
        Frame frame = open(Port.LIGHT_SUMMARY, summaries++);
        if (frame != null) {
            light.put(frame);
            frame.put16(litSamples);
            for (int i = 0; i < CLASSES; i++) {
                frame.put8(classes[i]);
            }
            uplink.submit(frame);
        }
        light.clear();
        litSamples = 0;
        for (int i = 0; i < CLASSES; i++) {
            classes[i] = 0;
        }
        int interval = parameters[Parameter.LIGHT_INTERVAL] * Machine.SECOND;
        start(interval, interval);
    }
}
