package sensors.app;

import sensors.radio.Frame;
import sensors.radio.FrameFormat;
import sensors.util.DeltaEncoder;

/**
 * Sends all samples, compressed without loss, as many in a message as fit. The message's number is
 * that of its first sample. It is followed by the number of samples (1 byte) and the samples.
 */
final class SampleLog {
    private final Application application;
    private final int kind;
    private final DeltaEncoder encoder = new DeltaEncoder();
    private Frame frame;
    private int countAt;
    private int count;

    /** Number of the next sample. */
    int position;

    SampleLog(Application application, int kind) {
        this.application = application;
        this.kind = kind;
    }

    void add(int sample) {
        if (frame != null && !encoder.fits(DeltaEncoder.LONGEST, FrameFormat.LIMIT)) {
            flush();
        }
        if (frame == null) {
            frame = application.open(kind, position);
            if (frame != null) {
                countAt = frame.length;
                frame.put8(0);
                encoder.begin(frame);
                encoder.previous = 0;
                count = 0;
            }
        }
        if (frame != null) {
            encoder.add(sample);
            count++;
        }
        position++;
    }

    /** Sends the samples that were added, if any. */
    void flush() {
        if (frame != null) {
            encoder.end();
            frame.data[countAt] = (byte) count;
            application.uplink.submit(frame);
            frame = null;
        }
    }
}
