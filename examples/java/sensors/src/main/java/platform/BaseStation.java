package platform;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

import sensors.app.Port;

/**
 * The sink: receives messages, drops duplicates, and compares the content of messages with what the
 * converter measured. Where possible it computes in another way than the mote.
 */
final class BaseStation {
    private static final int HEADER = 8;
    private static final int CONTENT = HEADER + 3;
    private static final int CHECKSUM = 2;
    /** Sequence numbers repeat after 256 messages, but copies of a message arrive within this time. */
    private static final int REMEMBERED_SECONDS = 60;

    private final World world;
    private final int moteAddress;
    private final Map<Integer, Long> recent = new HashMap<>();
    private final Set<String> foreign = new HashSet<>();

    /** Number of messages, by origin, port and kind. */
    final Map<String, Integer> messages = new TreeMap<>();
    int received;
    int duplicates;
    int ofMote;
    int expected;
    int foreignReceived;
    int checksum;

    int lightSamples;
    int waveformSamples;
    int lampChanges;
    int alarms;
    int conditions;
    int millivolts;
    private final int[] counters = new int[8];
    int hottest = Integer.MIN_VALUE;
    int coldest = Integer.MAX_VALUE;
    int brightest;
    int strongest;

    BaseStation(World world, int moteAddress) {
        this.world = world;
        this.moteAddress = moteAddress;
    }

    /** Announces a message of another mote, which may then arrive. */
    void expect(byte[] frame) {
        expected++;
        foreign.add(content(frame));
    }

    private static String content(byte[] frame) {
        StringBuilder content = new StringBuilder().append(frame[4]).append(' ').append(frame[5]);
        for (int i = HEADER; i < frame.length - CHECKSUM; i++) {
            content.append(' ').append(frame[i]);
        }
        return content.toString();
    }

    void receive(byte[] frame) {
        int origin = frame[4] & 0xff;
        int message = origin << 8 | frame[5] & 0xff;
        Long before = recent.get(message);
        if (before != null && world.now() - before < REMEMBERED_SECONDS * (long) Machine.SECOND) {
            duplicates++;
            return;
        }
        recent.put(message, world.now());
        received++;
        for (int i = HEADER; i < frame.length - CHECKSUM; i++) {
            checksum = Checksum.next(checksum, frame[i]);
        }
        if (origin != moteAddress) {
            require(foreign.remove(content(frame)),
                    "a message of mote %d was changed on its way", origin);
            require(frame[6] == 1,
                    "a message of mote %d has made %d hops", origin, frame[6]);
            foreignReceived++;
            count(origin, frame[7], 0);
            return;
        }
        ofMote++;
        int port = frame[7];
        int kind = frame[8];
        int number = u16(frame, 9);
        count(origin, port, kind);
        switch (port << 8 | kind) {
            case Port.ENVIRONMENT << 8 | Port.ENVIRONMENT_REPORT ->
                environmentReport(frame, number);
            case Port.ENVIRONMENT << 8 | Port.ENVIRONMENT_ALARM -> alarm(frame, number);
            case Port.LIGHT << 8 | Port.LIGHT_LOG -> lightLog(frame, number);
            case Port.LIGHT << 8 | Port.LIGHT_LAMP -> lamp(frame, number);
            case Port.LIGHT << 8 | Port.LIGHT_SUMMARY -> lightSummary(frame, number);
            case Port.VIBRATION << 8 | Port.VIBRATION_FEATURES -> features(frame, number);
            case Port.VIBRATION << 8 | Port.VIBRATION_WAVEFORM -> waveform(frame, number);
            case Port.VIBRATION << 8 | Port.VIBRATION_CONDITION -> condition(frame, number);
            case Port.STATUS << 8 | Port.STATUS_COUNTERS -> status(frame, number);
            default -> throw new IllegalStateException("no message is of port " + port + ", kind " + kind);
        }
    }

    private void count(int origin, int port, int kind) {
        messages.merge(origin + "/" + port + "/" + kind, 1, Integer::sum);
    }

    int count(int port, int kind) {
        return messages.getOrDefault(moteAddress + "/" + port + "/" + kind, 0);
    }

    private void environmentReport(byte[] frame, int number) {
        int[] temperature = new int[8];
        int[] humidity = new int[8];
        int first = latest(number, Machine.TEMPERATURE, 8, 8);
        for (int i = 0; i < 8; i++) {
            temperature[i] = Calibration.temperature(raw(Machine.TEMPERATURE, first + i));
            humidity[i] = Calibration.humidity(raw(Machine.HUMIDITY, first + i), temperature[i]);
        }
        summary(frame, CONTENT, temperature, "temperature");
        summary(frame, CONTENT + 6, humidity, "humidity");
        double dewPoint = Calibration.dewPoint(temperature[7] / 100.0, humidity[7] / 100.0) * 100;
        require(Math.abs(s16(frame, CONTENT + 12) - dewPoint) <= 5, "dew point");
        double rise = 0;
        for (int i = 0; i < 8; i++) {
            rise += (i - 3.5) / 42 * temperature[i] * 8;
        }
        require(Math.abs(s16(frame, CONTENT + 14) - rise) <= 1, "trend");
        coldest = Math.min(coldest, s16(frame, CONTENT));
        hottest = Math.max(hottest, s16(frame, CONTENT + 2));
    }

    private void alarm(byte[] frame, int number) {
        // The number is that of readings, including this one.
        int last = latest(number - 1 & 0xffff, Machine.TEMPERATURE, 1, 1);
        int sum = 0;
        int first = Math.max(0, last - 3);
        for (int i = first; i <= last; i++) {
            sum += Calibration.temperature(raw(Machine.TEMPERATURE, i));
        }
        int value = s16(frame, CONTENT + 1);
        require(value == sum / (last - first + 1), "smoothed temperature");
        require(frame[CONTENT] == 1 ? value >= 2700 : value < 2700,
                "alarm at %d", value);
        alarms++;
    }

    private void lightLog(byte[] frame, int number) {
        int count = frame[CONTENT] & 0xff;
        int first = latest(number, Machine.LIGHT, 1, count);
        BitReader reader = new BitReader(frame, CONTENT + 1, frame.length - CHECKSUM);
        for (int i = 0; i < count; i++) {
            int sample = reader.sample();
            require(sample == Calibration.light(raw(Machine.LIGHT, first + i)),
                    "light %d: %d", first + i, sample);
            brightest = Math.max(brightest, sample);
        }
        require(reader.atEnd(),
                "light log of %d samples has more", count);
        lightSamples += count;
    }

    private void lamp(byte[] frame, int number) {
        int sample = Calibration.light(raw(Machine.LIGHT, latest(number, Machine.LIGHT, 1, 1)));
        require(frame[CONTENT] == 1 ? sample >= 1150 : sample < 1000,
                "lamp at %d", sample);
        lampChanges++;
    }

    private void lightSummary(byte[] frame, int number) {
        int[] light = new int[150];
        int[] classes = new int[8];
        int first = latest(number, Machine.LIGHT, light.length, light.length);
        for (int i = 0; i < light.length; i++) {
            light[i] = Calibration.light(raw(Machine.LIGHT, first + i));
            classes[Math.max(0, Math.min(7, light[i] / 256))]++;
        }
        summary(frame, CONTENT, light, "light");
        int lit = classes[4] + classes[5] + classes[6] + classes[7];
        require(s16(frame, CONTENT + 6) == lit, "lit samples");
        for (int i = 0; i < classes.length; i++) {
            require((frame[CONTENT + 8 + i] & 0xff) == classes[i],
                    "class %d of light", i);
        }
    }

    private void features(byte[] frame, int number) {
        double[] burst = Calibration.burst(world.converter.history(Machine.ACCELERATION),
                latest(number, Machine.ACCELERATION, 64, 64));
        double peak = 0;
        double squares = 0;
        int crossings = burst[0] < 0 ? 1 : 0;
        for (int i = 0; i < burst.length; i++) {
            peak = Math.max(peak, Math.abs(burst[i]));
            squares += burst[i] * burst[i];
            crossings += i > 0 && burst[i - 1] < 0 != burst[i] < 0 ? 1 : 0;
        }
        require(s16(frame, CONTENT) == peak, "peak");
        double effective = Math.sqrt(squares / burst.length);
        require(Math.abs(s16(frame, CONTENT + 2) - effective) <= 1, "effective value");
        require(frame[CONTENT + 4] == crossings, "zero crossings");
        int[] bins = {4, 8, 12, 20};
        for (int i = 0; i < bins.length; i++) {
            double amplitude = Calibration.amplitude(burst, bins[i]);
            int reported = s16(frame, CONTENT + 5 + 2 * i);
            require(Math.abs(reported - amplitude) <= 3 + amplitude / 100,
                    "amplitude %d: %d", bins[i], reported);
        }
        strongest = Math.max(strongest, s16(frame, CONTENT + 2));
    }

    private void waveform(byte[] frame, int number) {
        int count = frame[CONTENT] & 0xff;
        int first = latest(number, Machine.ACCELERATION, 1, count);
        double[] burst = Calibration.burst(world.converter.history(Machine.ACCELERATION), first / 64 * 64);
        BitReader reader = new BitReader(frame, CONTENT + 1, frame.length - CHECKSUM);
        for (int i = 0; i < count; i++) {
            int sample = reader.sample();
            require(sample == burst[first % 64 + i], "acceleration %d: %d", first + i, sample);
        }
        require(reader.atEnd(),
                "waveform of %d samples has more", count);
        waveformSamples += count;
    }

    private void condition(byte[] frame, int number) {
        int first = latest(number, Machine.ACCELERATION, 64, 64);
        for (int burst = first - 64; burst <= first; burst += 64) {
            double squares = 0;
            for (double sample : Calibration.burst(world.converter.history(Machine.ACCELERATION), burst)) {
                squares += sample * sample;
            }
            int effective = (int) Math.sqrt(Math.floor(squares / 64));
            int condition = effective < 50 ? 0 : effective < 160 ? 1 : effective < 300 ? 2 : 3;
            require(frame[CONTENT] == condition,
                    "condition of the machine at %d", effective);
        }
        conditions++;
    }

    private void status(byte[] frame, int number) {
        int index = latest(number, Machine.BATTERY, 1, 1);
        require(u16(frame, CONTENT) == Calibration.battery(raw(Machine.BATTERY, index)), "battery");
        for (int i = 0; i < counters.length; i++) {
            int value = u16(frame, CONTENT + 2 + 2 * i);
            // Counters have 16 bits and never decrease.
            require((short) (value - counters[i]) >= 0,
                    "counter %d went from %d to %d", i, counters[i], value);
            counters[i] = value;
        }
        millivolts = u16(frame, CONTENT);
    }

    /** Checks the least, greatest and mean value that a message gives. */
    private static void summary(byte[] frame, int at, int[] values, String title) {
        int least = values[0];
        int greatest = values[0];
        int sum = 0;
        for (int value : values) {
            least = Math.min(least, value);
            greatest = Math.max(greatest, value);
            sum += value;
        }
        require(s16(frame, at) == least && s16(frame, at + 2) == greatest
                && s16(frame, at + 4) == sum / values.length, "summary of %s", title);
    }

    /**
     * Returns the index of the first of {@code count} samples to which a message's number refers.
     * Numbers have 16 bits, in units of {@code unit} samples; the latest possible samples are meant.
     */
    private int latest(int number, int channel, int unit, int count) {
        int measured = world.converter.history(channel).size();
        int index = number * unit;
        require(index + count <= measured,
                "sample %d of channel %d was never taken", index, channel);
        while (index + (unit << 16) + count <= measured) {
            index += unit << 16;
        }
        return index;
    }

    private int raw(int channel, int index) {
        List<Integer> history = world.converter.history(channel);
        require(index < history.size(),
                "sample %d of channel %d was never taken", index, channel);
        return history.get(index);
    }

    private static int u16(byte[] frame, int at) {
        return (frame[at] & 0xff) << 8 | frame[at + 1] & 0xff;
    }

    private static int s16(byte[] frame, int at) {
        return (short) u16(frame, at);
    }

    private static void require(boolean holds, String message, Object... details) {
        if (!holds) {
            throw new IllegalStateException("at the sink: " + String.format(message, details));
        }
    }
}
