package flashpager.recorder;

import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * The methods that recorded code calls. A block counts as executed whole when it is entered. So if
 * an instruction inside a block throws, the instructions after it are counted, too. Calls, jumps
 * and instructions that may initialise another class end a block. Only exceptions that the JVM
 * throws by itself (null, bounds, division, cast, memory) can thus make a difference.
 *
 * <p>A block does not end where the JVM only loads a class, for a cast, an array or a field of an
 * object. If the program's own class loader is recorded, its blocks then come after this block.
 */
public final class Recorder {
    /** Maximum number of blocks that the reader accepts. */
    private static final int MAX_BLOCKS = 1 << 24;

    /** Maximum number of threads that the reader distinguishes. */
    private static final int MAX_THREADS = 1024;

    /** Maximum number of unrecorded threads that the trace names. */
    private static final int MAX_LEFT_OUT = 64;

    /**
     * The recorder's lock, held in all but the common case of {@link #block}. Code that holds it
     * must not wait for a recorded class.
     */
    private static final Object LOCK = new Object();

    /** The slot of threads that are not recorded. */
    private static final Slot UNRECORDED = new Slot((Thread) null);

    /** A cache of slots, by their thread's identity hash. */
    private static final Slot[] CACHE = new Slot[1024];

    /** Threads that run the recorder itself now, and are not recorded meanwhile. */
    private static final ThreadList PAUSED = new ThreadList();

    /**
     * Threads for which there was no slot, by their identity hash. They never get one later, since
     * their trace would begin in the middle.
     */
    private static final Slot[] LEFT_OUT = new Slot[CACHE.length];

    /**
     * The slot that was filled last. It is tried first, since one thread usually does most of the
     * work.
     */
    private static Slot last = UNRECORDED;

    private static Stream stream;
    private static Slot[] slots = {};

    /** Number of slots that have ever been used. */
    private static int used;

    /** Number of threads that have had a slot, and number of threads that never had one. */
    private static int threads;

    private static int leftOut;

    /** The slot of all threads together, or null. */
    private static Slot shared;

    private static int blocks;

    static {
        for (int i = 0; i < CACHE.length; i++) {
            CACHE[i] = UNRECORDED;
        }
    }

    private Recorder() {}

    /** Begins to record. */
    static void start(Stream to, Slot[] unused, boolean oneStream) {
        synchronized (LOCK) {
            stream = to;
            slots = unused;
            if (oneStream) {
                shared = unused[0];
                shared.claim(0, "all threads", null);
            }
        }
    }

    /** Records that the current thread enters a block. */
    public static void block(int number) {
        Thread thread = Thread.currentThread();
        Slot slot = last;
        if (slot.thread != thread) {
            slot = find(thread);
        }
        // Inlined by hand, since a call would need more stack.
        int next = slot.next;
        if (next < slot.limit) {
            slot.numbers.put(next, number + 1);
            slot.next = next + 1;
        } else {
            full(slot, thread, number);
        }
    }

    private static Slot find(Thread thread) {
        Slot slot = CACHE[System.identityHashCode(thread) & CACHE.length - 1];
        return slot.thread == thread ? slot : claim(thread);
    }

    /** Finds or makes a thread's slot. */
    private static Slot claim(Thread thread) {
        if (shared != null || Thread.holdsLock(LOCK)) {
            return UNRECORDED;
        }
        touchStack();
        synchronized (LOCK) {
            if (stream == null || PAUSED.contains(thread)) {
                return UNRECORDED;
            }
            int hash = System.identityHashCode(thread);
            Slot slot = owned(thread);
            if (slot == null) {
                slot = leftOut(thread, hash);
            }
            if (slot == null && threads < MAX_THREADS) {
                slot = unused();
                if (slot != null) {
                    slot.claim(threads, thread.getName(), thread);
                    slot.flush(stream); // empty, but it keeps the order of the threads
                    if (threads++ == 0) {
                        last = slot;
                    }
                }
            }
            if (slot == null) {
                try {
                    slot = leaveOut(thread, hash);
                } catch (OutOfMemoryError e) {
                    return UNRECORDED; // the program finds out when it needs memory itself
                }
            }
            CACHE[hash & CACHE.length - 1] = slot;
            return slot;
        }
    }

    /**
     * Finds a thread's slot. Without the lock, only that of the current thread may be asked for.
     */
    private static Slot owned(Thread thread) {
        for (int i = 0; i < used; i++) {
            if (slots[i].thread == thread) {
                return slots[i];
            }
        }
        return null;
    }

    /**
     * Returns a slot for a new thread, or null. Slots of threads that have ended are reused, since
     * no other thread looks for them.
     */
    private static Slot unused() {
        Slot free = null;
        for (int i = used - 1; i >= 0; i--) {
            Slot slot = slots[i];
            if (slot.thread != null && !slot.thread.isAlive()) {
                if (slot.next > 0) {
                    slot.flush(stream);
                }
                slot.thread = null;
            }
            if (slot.thread == null) {
                free = slot;
            }
        }
        return free == null && used < slots.length ? slots[used++] : free;
    }

    /** Finds a thread among those left out, and removes ended threads from the list. */
    private static Slot leftOut(Thread thread, int hash) {
        int at = hash & LEFT_OUT.length - 1;
        Slot before = null;
        for (Slot slot = LEFT_OUT[at]; slot != null; slot = slot.link) {
            if (slot.thread == thread) {
                return slot;
            }
            if (slot.thread.isAlive()) {
                before = slot;
                continue;
            }
            if (before == null) {
                LEFT_OUT[at] = slot.link;
            } else {
                before.link = slot.link;
            }
            if (CACHE[at] == slot) {
                CACHE[at] = UNRECORDED;
            }
        }
        return null;
    }

    private static Slot leaveOut(Thread thread, int hash) {
        Slot slot = new Slot(thread);
        slot.link = LEFT_OUT[hash & LEFT_OUT.length - 1];
        LEFT_OUT[hash & LEFT_OUT.length - 1] = slot;
        if (leftOut < MAX_LEFT_OUT) {
            leftOut++;
            boolean isLate = threads == MAX_THREADS;
            String most = isLate ? MAX_THREADS + " threads" : slots.length + " threads at a time";
            leaveOut("thread " + thread.getName(), "more than " + most);
        }
        return slot;
    }

    /** Records a block for which the slot has no room, or which is not recorded at all. */
    private static void full(Slot slot, Thread thread, int number) {
        Slot to = slot;
        if (shared != null) {
            to = shared;
        } else if (slot.limit == 0) {
            return;
        }
        if (Thread.holdsLock(LOCK)) {
            return; // JDK code that the recorder itself executes
        }
        if (!stream.isOpen()) {
            slot.limit = 0;
            return;
        }
        touchStack();
        synchronized (LOCK) {
            if (to == shared && PAUSED.contains(thread)) {
                return;
            }
            if (to.next == to.limit) {
                to.flush(stream);
                if (to != shared) {
                    last = to;
                }
            }
            to.put(number);
        }
    }

    /**
     * Ignores the current thread's blocks until {@link #resume}, since JDK code that the recorder
     * itself executes does not belong to the program. This method runs for every class that is
     * loaded, even one for which the holder of the lock waits, so it must not take the lock.
     */
    static void pause() {
        touchStack();
        Thread thread = Thread.currentThread();
        PAUSED.add(thread);
        Slot slot = owned(thread);
        if (slot != null) {
            slot.setOpen(false);
        }
    }

    /** Records the current thread's blocks again. */
    static void resume() {
        Thread thread = Thread.currentThread();
        PAUSED.remove(thread);
        Slot slot = owned(thread);
        if (slot != null && !PAUSED.contains(thread)) {
            slot.setOpen(stream.isOpen());
        }
    }

    /** Returns the number of the block that is described next. */
    static int blocks() {
        synchronized (LOCK) {
            return blocks;
        }
    }

    /**
     * Describes the blocks of a class, in their order.
     *
     * @param first the number that its first block must have
     * @return false if another class took that number first: nothing was described then
     * @throws IllegalStateException if there are too many blocks
     */
    static boolean describe(CodeMap.Place[] places, List<MethodCode> methods, int first) {
        touchStack();
        synchronized (LOCK) {
            if (blocks != first) {
                return false;
            }
            int count = 0;
            for (int i = 0; i < methods.size(); i++) {
                count += methods.get(i).blocks();
            }
            if (count > MAX_BLOCKS - blocks) {
                throw new IllegalStateException("more than " + MAX_BLOCKS + " blocks");
            }
            for (int i = 0; i < methods.size(); i++) {
                MethodCode method = methods.get(i);
                CodeMap.Place place = places[i];
                if (place == null) {
                    continue;
                }
                stream.method(place.address(), place.bytes(), method.label());
                for (int block = 0; block < method.blocks(); block++) {
                    stream.block(
                            place.blockAddress(block),
                            place.blockBytes(block),
                            place.blockInstructions(block),
                            method.flags(block));
                    blocks++;
                }
            }
            return true;
        }
    }

    /** Reports a fact about the recording. */
    static void meta(String key, String value) {
        byte[] text = bytes(key + "=" + value);
        touchStack();
        synchronized (LOCK) {
            stream.meta(text);
        }
    }

    /** Reports the reason why nothing is recorded. Returns false if the reader has gone. */
    static boolean refuse(String reason) {
        synchronized (LOCK) {
            if (stream == null) {
                return false;
            }
            meta("refused", reason);
            return true;
        }
    }

    /** Reports a thread or class that runs but is not recorded, with the reason. */
    static void leaveOut(String subject, String reason) {
        meta("left_out", subject + ": " + reason);
    }

    /** Returns text in UTF-8, cut to what fits into a record. */
    static byte[] bytes(String text) {
        byte[] all = text.getBytes(StandardCharsets.UTF_8);
        if (all.length <= Stream.TEXT_BYTES) {
            return all;
        }
        byte[] start = new byte[Stream.TEXT_BYTES];
        System.arraycopy(all, 0, start, 0, start.length);
        return start;
    }

    /**
     * Uses as much stack as the code that follows, so that a StackOverflowError is thrown now,
     * before anything has changed.
     */
    private static void touchStack() {
        touchStack(200, 0, 0, 0, 0);
    }

    private static long touchStack(int depth, long a, long b, long c, long d) {
        return depth == 0 ? a : a + touchStack(depth - 1, b + depth, c, d, a);
    }
}
