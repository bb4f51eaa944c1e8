package sensors.app;

import platform.Machine;
import sensors.config.Dissemination;
import sensors.config.Parameter;
import sensors.driver.BatterySensor;
import sensors.event.Scheduler;
import sensors.net.Router;
import sensors.radio.Frame;
import sensors.radio.Mac;
import sensors.radio.Receiver;

/** Sends status messages at regular intervals: the supply voltage, and counters of the radio. */
public final class StatusReporter extends Application {
    private final Mac mac;
    private final Receiver receiver;
    private final Router router;
    private int reports;

    public StatusReporter(Scheduler scheduler, Dissemination dissemination, Mac mac, Receiver receiver,
            Router router, BatterySensor battery) {
        super(scheduler, dissemination, router, Port.STATUS, battery);
        this.mac = mac;
        this.receiver = receiver;
        this.router = router;
        start(Machine.SECOND, 0);
    }

    @Override
    public void sampled(int millivolts) {
        Frame frame = open(Port.STATUS_COUNTERS, reports++);
        if (frame != null) {
            frame.put16(millivolts);
            frame.put16(mac.transmissions);
            frame.put16(mac.retransmissions);
            frame.put16(mac.busyChannels);
            frame.put16(receiver.damaged);
            frame.put16(receiver.overheard);
            frame.put16(router.forwarded);
            frame.put16(router.duplicates);
            frame.put16(router.dropped);
            uplink.submit(frame);
        }
        start(parameters[Parameter.STATUS_INTERVAL] * Machine.SECOND, 0);
    }
}
