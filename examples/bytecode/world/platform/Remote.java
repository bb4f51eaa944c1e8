package platform;

import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import sensors.Mote;

/**
 * The world of {@link Simulation} for a mote in another process. The mote's software calls its
 * hardware over a link, which is standard input and output. When the mote's power is cut, all values
 * of the sink are written to a file.
 *
 * <p>A request is a byte, the index of the method in NATIVES of specialize.py, followed by the
 * arguments. The answer is the method's result. Numbers have 4 bytes, the least significant first. An
 * array is sent as a byte with its length, followed by its bytes.
 */
final class Remote {
    /** The mote's address in the network. */
    private static final int MOTE = 7;

    private Remote() {}

    /**
     * Simulates the world.
     *
     * @param arguments the file for the sink's values, the seconds of virtual time, and optionally
     *     {@code here}, with which the mote runs in this virtual machine instead
     */
    public static void main(String[] arguments) throws IOException, IllegalAccessException {
        World world = new World(Integer.parseInt(arguments[1]), MOTE);
        Machine.connect(world);
        if (arguments.length > 2) {
            new Mote(MOTE).scheduler.run();
        } else {
            serve(new DataInputStream(System.in), new BufferedOutputStream(System.out));
        }
        try (PrintStream out = new PrintStream(arguments[0])) {
            print(world.air.sink, out);
        }
    }

    /** Answers requests until the mote's power is cut. */
    private static void serve(DataInputStream in, OutputStream out) throws IOException {
        byte[] frame = new byte[256];
        for (;;) {
            int request = in.read();
            switch (request) {
                case 1 -> put(out, Machine.now());
                case 2 -> {
                    int interrupt = Machine.waitForInterrupt(number(in));
                    put(out, interrupt);
                    if (interrupt == Machine.POWER_OFF) {
                        return;
                    }
                }
                case 3 -> Machine.startConversion(number(in));
                case 4 -> put(out, Machine.conversion());
                case 5 -> put(out, Machine.channelClear() ? 1 : 0);
                case 6 -> {
                    int length = in.readUnsignedByte();
                    in.readFully(frame, 0, length);
                    put(out, Machine.transmit(frame, length) ? 1 : 0);
                }
                case 7 -> {
                    int length = Machine.receive(frame);
                    out.write(length);
                    out.write(frame, 0, length);
                    out.flush();
                }
                case -1 -> System.exit(1); // the mote has stopped, and printed the reason
                default -> throw new IOException("unknown request of the mote: " + request);
            }
        }
    }

    private static int number(DataInputStream in) throws IOException {
        return Integer.reverseBytes(in.readInt());
    }

    private static void put(OutputStream out, int number) throws IOException {
        for (int i = 0; i < 4; i++) {
            out.write(number >> 8 * i);
        }
        out.flush();
    }

    /** Prints each number of the sink, and the number of messages of each kind. */
    private static void print(BaseStation sink, PrintStream out) throws IllegalAccessException {
        for (Field field : BaseStation.class.getDeclaredFields()) {
            if (field.getType() == int.class && !Modifier.isStatic(field.getModifiers())) {
                field.setAccessible(true);
                out.println(field.getName() + " " + field.getInt(sink));
            }
        }
        sink.messages.forEach((kind, count) -> out.println(kind + " " + count));
    }
}
