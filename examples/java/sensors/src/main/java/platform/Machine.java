package platform;

/**
 * The mote's hardware as its software sees it: clock, converter, radio. Native methods of a virtual
 * machine would be here; below is a simulation of the world the mote stands in. Everything happens
 * in virtual time, in one thread, and in the same way each time.
 */
public final class Machine {
    /** Ticks of the clock in a second. The clock has 32 bits and wraps. */
    public static final int SECOND = 32768;

    /** Interrupts. */
    public static final int POWER_OFF = 0;
    public static final int ALARM = 1;
    public static final int CONVERTED = 2;
    public static final int RADIO_SENT = 3;
    public static final int RADIO_RECEIVED = 4;
    public static final int INTERRUPTS = 5;

    /** Channels of the converter, which has 12 bits. */
    public static final int TEMPERATURE = 0;
    public static final int HUMIDITY = 1;
    public static final int BATTERY = 2;
    public static final int LIGHT = 3;
    public static final int ACCELERATION = 4;
    public static final int CHANNELS = 5;

    private static World world;

    private Machine() {
    }

    static void standIn(World world) {
        Machine.world = world;
    }

    /** Ticks since the mote was switched on. */
    public static int now() {
        return (int) world.now();
    }

    /** Sleeps until an interrupt, which is {@link #ALARM} when the clock gets to {@code alarm}. */
    public static int waitForInterrupt(int alarm) {
        return world.waitForInterrupt(alarm);
    }

    /** Starts a conversion; {@link #CONVERTED} reports its end. */
    public static void startConversion(int channel) {
        world.converter.start(channel);
    }

    /** The result of the conversion that has ended. */
    public static int conversion() {
        return world.converter.result();
    }

    /** Whether nobody in reach is sending. */
    public static boolean channelClear() {
        return world.air.isClear();
    }

    /** Sends bytes unless the radio is sending; {@link #RADIO_SENT} reports the end. */
    public static boolean transmit(byte[] data, int length) {
        return world.air.transmitFromMote(data, length);
    }

    /** Copies what was received to {@code data}; its length. */
    public static int receive(byte[] data) {
        return world.air.takeReceived(data);
    }
}
