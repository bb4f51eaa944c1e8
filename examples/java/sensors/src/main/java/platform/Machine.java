package platform;

/**
 * The mote's hardware as its software sees it: clock, converter, radio. On a mote these would be
 * native methods of the virtual machine; here they call a simulation of the mote's surroundings.
 * Everything happens in virtual time, in one thread, and in the same way in every run.
 */
public final class Machine {
    /** Ticks of the clock per second. The clock has 32 bits and wraps. */
    public static final int SECOND = 32768;

    /** Kinds of interrupts. */
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

    static void connect(World world) {
        Machine.world = world;
    }

    /** Returns the ticks since the mote was switched on. */
    public static int now() {
        return (int) world.now();
    }

    /** Sleeps until an interrupt and returns its kind: {@link #ALARM} at the time {@code alarm}. */
    public static int waitForInterrupt(int alarm) {
        return world.waitForInterrupt(alarm);
    }

    /** Starts a conversion; {@link #CONVERTED} reports its end. */
    public static void startConversion(int channel) {
        world.converter.start(channel);
    }

    /** Returns the result of the conversion that has ended. */
    public static int conversion() {
        return world.converter.result();
    }

    /** Returns true if no mote in reach is sending. */
    public static boolean channelClear() {
        return world.air.isClear();
    }

    /** Sends bytes. False if the radio is busy; else {@link #RADIO_SENT} reports the end. */
    public static boolean transmit(byte[] data, int length) {
        return world.air.transmitFromMote(data, length);
    }

    /** Copies the received frame to {@code data}, and returns its length. */
    public static int receive(byte[] data) {
        return world.air.takeReceived(data);
    }
}
