package flashpager.recorder;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.IntBuffer;
import java.nio.charset.StandardCharsets;

/**
 * Shared memory in which one thread collects the numbers of its blocks. Only that thread uses
 * {@link #next} and {@link #limit}; everything else is changed under the recorder's lock.
 */
final class Slot {
    /** Bytes of a slot in shared memory. */
    static final int BYTES = 32 * 1024;

    private static final int HEAD_BYTES = 64;
    private static final int BEFORE_AT = 8;
    private static final int NAME_AT = 16;
    private static final int NAME_BYTES = HEAD_BYTES - NAME_AT;
    private static final int CAPACITY = (BYTES - HEAD_BYTES) / Integer.BYTES;
    private static final int[] ZEROS = new int[CAPACITY];

    /** The thread that has the slot; null if it is free. */
    Thread thread;

    /** The next slot in a list of slots that hold nothing. */
    Slot link;

    /** Index of the next block number. */
    int next;

    /** Number of block numbers that fit; 0 while the slot ignores them. */
    int limit;

    /** Block numbers + 1, up to the first 0. */
    final IntBuffer numbers;

    private final ByteBuffer memory;
    private int number;
    private byte[] name;
    private long before;

    /** Makes an unused slot of shared memory. */
    Slot(ByteBuffer memory) {
        this.memory = memory.order(ByteOrder.LITTLE_ENDIAN);
        numbers =
                memory.slice(HEAD_BYTES, CAPACITY * Integer.BYTES)
                        .order(ByteOrder.LITTLE_ENDIAN)
                        .asIntBuffer();
    }

    /** Makes a slot without memory, for a thread that is not recorded. */
    Slot(Thread thread) {
        this.thread = thread;
        memory = null;
        numbers = null;
    }

    /**
     * Gives the empty slot to the thread with this number. The reader ignores it as long as it is
     * empty.
     */
    void claim(int number, String name, Thread thread) {
        byte[] text = cut(name == null ? "" : name);
        memory.putInt(4, text.length);
        memory.putLong(BEFORE_AT, 0);
        memory.put(NAME_AT, text);
        memory.putInt(0, number + 1);
        Stream.fence();
        this.number = number;
        this.name = text;
        before = 0;
        limit = CAPACITY;
        this.thread = thread;
    }

    private static byte[] cut(String name) {
        byte[] text;
        try {
            text = name.getBytes(StandardCharsets.UTF_8);
        } catch (OutOfMemoryError e) {
            return new byte[0];
        }
        if (text.length <= NAME_BYTES) {
            return text;
        }
        int end = NAME_BYTES;
        while ((text[end] & 0xC0) == 0x80) {
            end--;
        }
        byte[] start = new byte[end];
        System.arraycopy(text, 0, start, 0, end);
        return start;
    }

    /** Sets whether the slot keeps block numbers or ignores them. */
    void setOpen(boolean open) {
        limit = open ? CAPACITY : 0;
    }

    /**
     * Adds a block, for which there must be room.
     *
     * <p>The order matters: a StackOverflowError in between leaves no gap.
     */
    void put(int block) {
        int at = next;
        numbers.put(at, block + 1);
        next = at + 1;
    }

    /** Moves the numbers into the stream. */
    void flush(Stream stream) {
        int count = next;
        stream.thread(number, before, name, numbers, count);
        // The order matters: a kill in between neither loses nor repeats a number.
        numbers.put(0, 0);
        Stream.fence();
        numbers.put(0, ZEROS, 0, count);
        Stream.fence();
        before += count;
        memory.putLong(BEFORE_AT, before);
        Stream.fence();
        next = 0;
    }
}
