package platform;

import sensors.Mote;
import sensors.app.Port;
import sensors.radio.FramePool;

/** Runs the mote for some virtual time, checks the results for consistency, and prints them. */
public final class Simulation {
    private static final int SECONDS = 900;
    private static final int MOTE = 7;

    private Simulation() {
    }

    /** Runs the simulation. The only argument, if any, is the virtual time in seconds. */
    public static void main(String[] arguments) {
        int seconds = SECONDS;
        if (arguments.length > 0) {
            try {
                seconds = Integer.parseInt(arguments[0]);
            } catch (NumberFormatException e) {
                seconds = 0;
            }
            if (arguments.length > 1 || seconds < 1) {
                System.err.println("usage: java -jar sensors.jar [SECONDS]");
                System.exit(2);
            }
        }
        try {
            World world = new World(seconds, MOTE);
            Machine.connect(world);
            Mote mote = new Mote(MOTE);
            mote.scheduler.run();
            check(mote, world);
            report(mote, world, seconds);
        } catch (IllegalStateException e) {
            System.err.println("failed: " + e.getMessage());
            System.exit(1);
        }
    }

    private static void check(Mote mote, World world) {
        BaseStation sink = world.air.sink;
        int through = mote.router.submitted + mote.router.forwarded;
        int ended = mote.router.delivered + mote.router.dropped;
        int inUse = FramePool.SIZE - mote.pool.available;
        require(through >= ended && through - ended <= inUse, "messages have got lost in the mote");
        require(inUse <= 2 + through - ended, "frames have got lost in the mote");
        require(sink.received >= mote.router.delivered, "the sink has not got what was acknowledged");
        require(sink.received <= through, "the sink has got more than was sent");
        require(sink.foreignReceived <= mote.router.forwarded, "messages were forwarded twice");
    }

    private static void require(boolean holds, String message) {
        if (!holds) {
            throw new IllegalStateException(message);
        }
    }

    private static void report(Mote mote, World world, int seconds) {
        BaseStation sink = world.air.sink;
        print("%d s; messages sent %d, of others %d, acknowledged %d, given up %d", seconds,
                mote.router.submitted, mote.router.forwarded, mote.router.delivered, mote.router.dropped);
        print("mote: %d transmissions, %d of them again; channel busy %d times; way changed %d times",
                mote.mac.transmissions, mote.mac.retransmissions, mote.mac.busyChannels,
                mote.router.parentChanges);
        print("mote dropped: duplicates %d, damaged %d, overheard %d, for lack of memory %d",
                mote.router.duplicates, mote.receiver.damaged, mote.receiver.overheard,
                mote.receiver.overruns + mote.environment.refused + mote.light.refused
                        + mote.vibration.refused + mote.status.refused);
        print("sink: %d messages, %d duplicates dropped; of %d messages of others %d came",
                sink.received, sink.duplicates, sink.expected, sink.foreignReceived);
        print("environment: %d reports, %d alarms; %.2f to %.2f degrees",
                sink.count(Port.ENVIRONMENT, Port.ENVIRONMENT_REPORT), sink.alarms,
                sink.coldest / 100.0, sink.hottest / 100.0);
        print("light: %d messages with %d samples of %d, %d summaries; lamp switched %d times; at most %d",
                sink.count(Port.LIGHT, Port.LIGHT_LOG), sink.lightSamples,
                world.converter.history(Machine.LIGHT).size(),
                sink.count(Port.LIGHT, Port.LIGHT_SUMMARY), sink.lampChanges, sink.brightest);
        print("vibration: %d bursts of %d, %d messages with %d samples; %d changes of condition; "
                        + "at most %d mg effective",
                sink.count(Port.VIBRATION, Port.VIBRATION_FEATURES),
                world.converter.history(Machine.ACCELERATION).size() / 64,
                sink.count(Port.VIBRATION, Port.VIBRATION_WAVEFORM), sink.waveformSamples,
                sink.conditions, sink.strongest);
        print("status: %d messages, %d mV; parameters of version %d",
                sink.count(Port.STATUS, Port.STATUS_COUNTERS), sink.millivolts, mote.dissemination.version);
        print("checksum of all payloads: %04x", sink.checksum);
    }

    private static void print(String format, Object... values) {
        System.out.println(String.format(java.util.Locale.ROOT, format, values));
    }
}
