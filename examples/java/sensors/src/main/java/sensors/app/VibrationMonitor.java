package sensors.app;

import platform.Machine;
import sensors.config.Dissemination;
import sensors.config.Parameter;
import sensors.driver.Sensor;
import sensors.event.Event;
import sensors.event.Scheduler;
import sensors.net.Uplink;
import sensors.radio.Frame;

/**
 * Monitors a machine. At regular intervals it measures a burst of samples at 128 Hz and sends its
 * features, or also the samples themselves if the vibration is strong. Units are thousandths of g.
 */
public final class VibrationMonitor extends Application {
    private static final int SAMPLE_INTERVAL = Machine.SECOND / 128;
    /** Least effective values of three conditions; below the first, the machine is at rest. */
    private static final int RUNNING = 50;
    private static final int WORN = 160;
    private static final int ROUGH = 300;

    private final Scheduler scheduler;
    private final Event analysis = new Analysis();
    private final Window window = new Window();
    private final SampleLog waveform = new SampleLog(this, Port.VIBRATION_WAVEFORM);
    private final ToneDetector[] detectors = new ToneDetector[4];
    private int bursts;
    private int condition;
    private int conditionBefore;

    public VibrationMonitor(Scheduler scheduler, Dissemination dissemination, Uplink uplink,
            Sensor sensor) {
        super(scheduler, dissemination, uplink, Port.VIBRATION, sensor);
        this.scheduler = scheduler;
        detectors[0] = new ToneDetector(30274);
        detectors[1] = new ToneDetector(23170);
        detectors[2] = new ToneDetector(12540);
        detectors[3] = new ToneDetector(-12540);
        start(parameters[Parameter.VIBRATION_INTERVAL] * Machine.SECOND, SAMPLE_INTERVAL);
    }

    @Override
    public void sampled(int sample) {
        if (window.add(sample)) {
            start(parameters[Parameter.VIBRATION_INTERVAL] * Machine.SECOND, SAMPLE_INTERVAL);
            scheduler.ready.post(analysis);
        }
    }

    /** Analyses a burst as a separate event, so that it does not delay events that wait already. */
    private final class Analysis extends Event {
        @Override
        public void fire() {
            window.analyse();
            Frame frame = open(Port.VIBRATION_FEATURES, bursts);
            if (frame != null) {
                frame.put16(window.peak);
                frame.put16(window.effective);
                frame.put8(window.zeroCrossings);
                for (int i = 0; i < detectors.length; i++) {
                    frame.put16(detectors[i].amplitude(window));
                }
                uplink.submit(frame);
            }
            judge(window.effective);
            if (window.effective > parameters[Parameter.ROUGH]) {
                waveform.position = bursts * Window.SIZE;
                for (int i = 0; i < Window.SIZE; i++) {
                    waveform.add(window.samples[i]);
                }
                waveform.flush();
            }
            bursts++;
        }

        /** Reports a change of condition, if two bursts in a row agree on it. */
        private void judge(int effective) {
            int now = effective < RUNNING ? 0 : effective < WORN ? 1 : effective < ROUGH ? 2 : 3;
            if (now != condition && now == conditionBefore) {
                Frame frame = open(Port.VIBRATION_CONDITION, bursts);
                if (frame != null) {
                    condition = now;
                    frame.put8(now);
                    uplink.submit(frame);
                }
            }
            conditionBefore = now;
        }
    }
}
