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
 * The world of {@link Simulation} for a mote that is elsewhere: what its software asks of its
 * hardware comes over a link, standard input and output. When the power is cut, a file gets all
 * values of the sink. With {@code here}, the mote runs in this virtual machine instead.
 *
 * <p>A request is a byte, the method's place in specialize.py's NATIVES, and its arguments; the
 * answer is what it returns. Numbers have 4 bytes, the least significant first. Of arrays go a byte
 * of their length and their bytes.
 */
final class Remote {
    private static final int MOTE = 7;

    private Remote() {}

    /** The file, the seconds of virtual time, and {@code here} or nothing. */
    public static void main(String[] arguments) throws IOException, IllegalAccessException {
        World world = new World(Integer.parseInt(arguments[1]), MOTE);
        Machine.standIn(world);
        if (arguments.length > 2) {
            new Mote(MOTE).scheduler.run();
        } else {
            serve(new DataInputStream(System.in), new BufferedOutputStream(System.out));
        }
        try (PrintStream to = new PrintStream(arguments[0])) {
            tell(world.air.sink, to);
        }
    }

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
                case -1 -> System.exit(1); // the mote has stopped, and says why
                default -> throw new IOException("the mote asks what is none: " + request);
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

    /** Every number that the sink has, and how many messages of each kind. */
    private static void tell(BaseStation sink, PrintStream to) throws IllegalAccessException {
        for (Field field : BaseStation.class.getDeclaredFields()) {
            if (field.getType() == int.class && !Modifier.isStatic(field.getModifiers())) {
                field.setAccessible(true);
                to.println(field.getName() + " " + field.getInt(sink));
            }
        }
        sink.messages.forEach((kind, count) -> to.println(kind + " " + count));
    }
}
