package flashpager.recorder;

import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.IntBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/**
 * Writes records with {@link Stream} and prints the magic and each record in hexadecimal. An
 * argument is one record, with fields separated by tabs: {@code META text}, {@code METHOD address
 * size name}, {@code BLOCK address size instructions flags}, {@code THREAD number before name}.
 */
final class StreamTool {
    private static final int USED_AT = 8;
    private static final int DATA_AT = 16;

    private StreamTool() {}

    public static void main(String[] arguments) {
        ByteBuffer memory = ByteBuffer.allocate(Stream.BYTES);
        Stream stream = new Stream(memory, OutputStream.nullOutputStream());
        int start = print(memory, 0);
        for (String argument : arguments) {
            write(stream, argument.split("\t"));
            start = print(memory, start);
        }
    }

    private static void write(Stream stream, String[] fields) {
        switch (fields[0]) {
            case "META" -> stream.meta(utf8(fields[1]));
            case "METHOD" -> stream.method(
                    Long.parseLong(fields[1]), Integer.parseInt(fields[2]), utf8(fields[3]));
            case "BLOCK" -> stream.block(
                    Long.parseLong(fields[1]),
                    Integer.parseInt(fields[2]),
                    Integer.parseInt(fields[3]),
                    Integer.parseInt(fields[4]));
            case "THREAD" -> stream.thread(
                    Integer.parseInt(fields[1]),
                    Long.parseLong(fields[2]),
                    utf8(fields[3]),
                    IntBuffer.allocate(0),
                    0);
            default -> throw new IllegalArgumentException(fields[0]);
        }
    }

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** Prints what is in the stream from {@code start} on; returns its end. */
    private static int print(ByteBuffer memory, int start) {
        int end = (int) memory.getLong(USED_AT);
        byte[] bytes = new byte[end - start];
        memory.get(DATA_AT + start, bytes);
        System.out.println(HexFormat.of().formatHex(bytes));
        return end;
    }
}
