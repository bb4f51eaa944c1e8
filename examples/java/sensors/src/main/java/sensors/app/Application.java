package sensors.app;

import sensors.config.Dissemination;
import sensors.driver.SampleListener;
import sensors.driver.Sensor;
import sensors.event.Scheduler;
import sensors.event.Timer;
import sensors.net.Uplink;
import sensors.radio.Frame;

/**
 * The common part of the applications: a timer that requests samples from a sensor, and a port for
 * messages to the sink.
 */
public abstract class Application extends Timer implements SampleListener {
    final int[] parameters;
    final Uplink uplink;
    private final int port;
    private final Sensor sensor;

    /** Number of messages for which there was no free frame. */
    public int refused;

    Application(Scheduler scheduler, Dissemination dissemination, Uplink uplink, int port,
            Sensor sensor) {
        super(scheduler);
        parameters = dissemination.values;
        this.uplink = uplink;
        this.port = port;
        this.sensor = sensor;
    }

    @Override
    public final void fire() {
        sensor.read(this);
    }

    /** Returns a message of this kind with this number, or null if no frame is free. */
    final Frame open(int kind, int number) {
        Frame frame = uplink.open(port);
        if (frame == null) {
            refused++;
        } else {
            frame.put8(kind);
            frame.put16(number);
        }
        return frame;
    }
}
