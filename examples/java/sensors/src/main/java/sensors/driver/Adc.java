package sensors.driver;

import platform.Machine;
import sensors.event.Event;
import sensors.event.Scheduler;
import sensors.util.Fifo;

/** The converter that all sensors share, with a queue of requests. Fires when one is done. */
public final class Adc extends Event {
    private final Fifo<Sensor> waiting = new Fifo<>(Machine.CHANNELS);
    private Sensor active;

    public Adc(Scheduler scheduler) {
        scheduler.attach(Machine.CONVERTED, this);
    }

    void request(Sensor sensor) {
        if (active == null) {
            convert(sensor);
        } else {
            waiting.add(sensor);
        }
    }

    private void convert(Sensor sensor) {
        active = sensor;
        Machine.startConversion(sensor.channel);
    }

    @Override
    public void fire() {
        Sensor sensor = active;
        int counts = Machine.conversion();
        active = null;
        Sensor next = waiting.poll();
        if (next != null) {
            convert(next);
        }
        sensor.listener.sampled(sensor.convert(counts));
    }
}
