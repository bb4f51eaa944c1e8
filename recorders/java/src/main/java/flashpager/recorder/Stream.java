package flashpager.recorder;

import java.io.IOException;
import java.io.OutputStream;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.IntBuffer;
import java.nio.charset.StandardCharsets;

/**
 * Writes the recorder stream of recorders/README.md to a pipe; recorders/stream/vectors.json has
 * example bytes. The bytes that are not yet in the pipe are in shared memory, where the reader
 * finds them even if the program is killed. The shared memory holds the number of bytes already in
 * the pipe (64 bits), the number of bytes in the memory (64 bits), and these bytes. All calls need
 * the recorder's lock, and none allocates memory.
 */
final class Stream {
    /** Size of the shared memory in bytes, including its head. */
    static final int BYTES = 256 * 1024;

    /** Largest text in a record, in bytes. */
    static final int TEXT_BYTES = 60_000;

    private static final int BASE_AT = 0;
    private static final int USED_AT = 8;
    private static final int DATA_AT = 16;
    private static final int META = 1;
    private static final int BLOCK = 3;
    private static final int METHOD = 5;
    private static final int THREAD = 6;

    private final ByteBuffer memory;
    private final OutputStream pipe;

    /** Buffer for one write to the pipe, small enough that the write allocates no memory. */
    private final byte[] piece = new byte[8192];

    private final byte[] zeros = new byte[Integer.BYTES];
    private volatile boolean open = true;
    private long base;

    /** End of the bytes that the reader sees. */
    private int end = DATA_AT;

    /** End of the bytes written, which the reader sees after {@link #commit}. */
    private int at = DATA_AT;

    Stream(ByteBuffer memory, OutputStream pipe) {
        this.memory = memory.order(ByteOrder.LITTLE_ENDIAN);
        this.pipe = pipe;
        byte[] magic = "FPSTRM01".getBytes(StandardCharsets.US_ASCII);
        memory.put(at, magic);
        at += magic.length;
        commit();
    }

    /** Returns true until a write fails because the reader has gone. */
    boolean isOpen() {
        return open;
    }

    /** Keeps the compiler from moving stores to shared memory across this point. */
    static void fence() {
        VarHandle.releaseFence();
    }

    /** Appends a META record; {@code text} is {@code key=value}, in UTF-8. */
    void meta(byte[] text) {
        begin(META, text.length);
        text(text);
        commit();
    }

    /** Describes a method: its address, bytes and name, in UTF-8. */
    void method(long address, int bytes, byte[] name) {
        begin(METHOD, 12 + name.length);
        memory.putLong(at, address);
        memory.putInt(at + 8, bytes);
        at += 12;
        text(name);
        commit();
    }

    /** Describes the block with the next number; {@code flags} are those of {@link MethodCode}. */
    void block(long address, int bytes, int instructions, int flags) {
        begin(BLOCK, 20);
        memory.putLong(at, address);
        memory.putInt(at + 8, bytes);
        memory.putInt(at + 12, instructions);
        memory.putInt(at + 16, flags);
        at += 20;
        commit();
    }

    /**
     * Appends the blocks that a thread executed, after {@code before} earlier ones.
     *
     * @param numbers block numbers, each plus 1
     * @param count how many of {@code numbers} are appended
     */
    void thread(int thread, long before, byte[] name, IntBuffer numbers, int count) {
        reserve(4 + 16 + name.length + 4 + count * Integer.BYTES);
        begin(THREAD, 16 + name.length);
        memory.putInt(at, thread);
        memory.putInt(at + 4, name.length);
        memory.putLong(at + 8, before);
        at += 16;
        text(name);
        int to = at;
        for (int i = 0; i < count; i++) {
            memory.putInt(to, numbers.get(i) - 1);
            to += Integer.BYTES;
        }
        at = to;
        commit();
    }

    private void begin(int kind, int bytes) {
        reserve(4 + bytes + 3);
        at = end; // overwrites a record that an error left incomplete
        memory.putInt(at, 0x8000_0000 | kind << 24 | bytes);
        at += 4;
    }

    private void text(byte[] text) {
        memory.put(at, text);
        at += text.length;
        int padding = -text.length & 3;
        memory.put(at, zeros, 0, padding);
        at += padding;
    }

    private void commit() {
        fence();
        memory.putLong(USED_AT, at - DATA_AT);
        end = at;
    }

    private void reserve(int bytes) {
        if (BYTES - end < bytes) {
            flush();
        }
    }

    private void flush() {
        int used = end - DATA_AT;
        try {
            for (int sent = 0; open && sent < used; ) {
                int count = used - sent < piece.length ? used - sent : piece.length;
                memory.get(DATA_AT + sent, piece, 0, count);
                pipe.write(piece, 0, count);
                sent += count;
            }
        } catch (IOException e) {
            open = false; // the reader has gone
        }
        // The order matters: a kill in between neither loses nor repeats a byte.
        memory.putLong(USED_AT, 0);
        fence();
        base += used;
        memory.putLong(BASE_AT, base);
        fence();
        end = DATA_AT;
        at = DATA_AT;
    }
}
