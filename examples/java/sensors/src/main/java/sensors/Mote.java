package sensors;

import platform.Machine;
import sensors.app.EnvironmentMonitor;
import sensors.app.LightLogger;
import sensors.app.StatusReporter;
import sensors.app.VibrationMonitor;
import sensors.config.Dissemination;
import sensors.driver.Adc;
import sensors.driver.BatterySensor;
import sensors.driver.HumiditySensor;
import sensors.driver.LinearSensor;
import sensors.driver.TemperatureSensor;
import sensors.event.Scheduler;
import sensors.net.Router;
import sensors.radio.FramePool;
import sensors.radio.Mac;
import sensors.radio.Receiver;
import sensors.util.Random;

/** A mote's software: drivers, radio stack, and applications that do not depend on each other. */
public final class Mote {
    public final Scheduler scheduler = new Scheduler();
    public final FramePool pool = new FramePool();
    public final Mac mac;
    public final Receiver receiver;
    public final Dissemination dissemination;
    public final Router router;
    public final EnvironmentMonitor environment;
    public final LightLogger light;
    public final VibrationMonitor vibration;
    public final StatusReporter status;

    public Mote(int address) {
        Random random = new Random(address);
        mac = new Mac(scheduler, random);
        receiver = new Receiver(scheduler, address, pool, mac);
        dissemination = new Dissemination(scheduler, address, pool, mac, random);
        router = new Router(scheduler, address, pool, mac, random, dissemination);
        mac.listener = router;

        Adc adc = new Adc(scheduler);
        environment = new EnvironmentMonitor(scheduler, dissemination, router,
                new TemperatureSensor(adc), new HumiditySensor(adc));
        light = new LightLogger(scheduler, dissemination, router,
                new LinearSensor(adc, Machine.LIGHT, 24, 1024));
        vibration = new VibrationMonitor(scheduler, dissemination, router,
                new LinearSensor(adc, Machine.ACCELERATION, 2048, 1000));
        status = new StatusReporter(scheduler, dissemination, mac, receiver, router,
                new BatterySensor(adc));
    }
}
