package flashpager.recorder;

import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * What recorded code calls. A block counts as executed whole when it is entered: the instructions
 * behind one that throws inside a block are counted too. Calls, jumps and whatever may initialise
 * another class end a block, so only exceptions that the JVM throws by itself (null, bounds,
 * division, cast, memory) can make that difference.
 *
 * <p>Nor does a block end where the JVM only loads a class, for a cast, an array or a field of an
 * object: if the loader is the program's and recorded, what it executes comes behind the block.
 */
public final class Recorder {
    /** Most blocks that the reader takes. */
    private static final int MAX_BLOCKS = 1 << 24;

    /** Most threads that the reader tells apart. */
    private static final int MAX_THREADS = 1024;

    /** How many threads that are not recorded are named. */
    private static final int MAX_LEFT_OUT = 64;

    /**
     * Taken for everything but the common case in {@link #block}. Nothing that is executed under it
     * may wait for a class that is recorded.
     */
    private static final Object LOCK = new Object();

    /** For threads of which nothing is recorded. */
    private static final Slot NOWHERE = new Slot((Thread) null);

    /** Slots by their thread's identity hash: one that was looked up before is found quickly. */
    private static final Slot[] FOUND = new Slot[1024];

    /** Threads of which nothing is recorded now: the recorder itself is at work there. */
    private static final ThreadList PAUSED = new ThreadList();

    /**
     * Threads that found no slot, by their identity hash: none gets one later, or its trace would
     * begin in the midst.
     */
    private static final Slot[] LEFT_OUT = new Slot[FOUND.length];

    /** Tried first: of the thread that was the last to fill one, as mostly one does the work. */
    private static Slot last = NOWHERE;

    private static Stream stream;
    private static Slot[] slots = {};

    /** How many slots have ever been used. */
    private static int used;

    /** How many threads have had a slot, and how many have had none. */
    private static int threads;

    private static int leftOut;

    /** Where the blocks of all threads go, or null. */
    private static Slot shared;

    private static int blocks;

    static {
        for (int i = 0; i < FOUND.length; i++) {
            FOUND[i] = NOWHERE;
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
        // Not in a method of its own: the less stack is needed the better.
        int next = slot.next;
        if (next < slot.limit) {
            slot.numbers.put(next, number + 1);
            slot.next = next + 1;
        } else {
            full(slot, thread, number);
        }
    }

    private static Slot find(Thread thread) {
        Slot slot = FOUND[System.identityHashCode(thread) & FOUND.length - 1];
        return slot.thread == thread ? slot : claim(thread);
    }

    /** Finds or makes a thread's slot. */
    private static Slot claim(Thread thread) {
        if (shared != null || Thread.holdsLock(LOCK)) {
            return NOWHERE;
        }
        touchStack();
        synchronized (LOCK) {
            if (stream == null || PAUSED.contains(thread)) {
                return NOWHERE;
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
                    slot.flush(stream); // nothing yet, but threads are known in their order
                    if (threads++ == 0) {
                        last = slot;
                    }
                }
            }
            if (slot == null) {
                try {
                    slot = leaveOut(thread, hash);
                } catch (OutOfMemoryError e) {
                    return NOWHERE; // the program's to deal with, when it wants memory itself
                }
            }
            FOUND[hash & FOUND.length - 1] = slot;
            return slot;
        }
    }

    /** Finds a thread's slot; without the lock, that of the current thread alone. */
    private static Slot owned(Thread thread) {
        for (int i = 0; i < used; i++) {
            if (slots[i].thread == thread) {
                return slots[i];
            }
        }
        return null;
    }

    /**
     * Finds a slot for a new thread, or null. Those of threads that have ended are taken back: they
     * execute nothing more, and nobody but them looks for them.
     */
    private static Slot unused() {
        Slot found = null;
        for (int i = used - 1; i >= 0; i--) {
            Slot slot = slots[i];
            if (slot.thread != null && !slot.thread.isAlive()) {
                if (slot.next > 0) {
                    slot.flush(stream);
                }
                slot.thread = null;
            }
            if (slot.thread == null) {
                found = slot;
            }
        }
        return found == null && used < slots.length ? slots[used++] : found;
    }

    /** Finds a thread among those left out; forgets ended ones on the way. */
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
            if (FOUND[at] == slot) {
                FOUND[at] = NOWHERE;
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

    /** Records a block for which the slot has no room, or which is not to be recorded at all. */
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
     * Turns the current thread's blocks away until {@link #resume}: what the recorder executes of
     * recorded JDK classes is not the program. Comes with every class that is loaded, even one that
     * whoever has the lock waits for; so this must do without.
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

    /** Takes the current thread's blocks again. */
    static void resume() {
        Thread thread = Thread.currentThread();
        PAUSED.remove(thread);
        Slot slot = owned(thread);
        if (slot != null && !PAUSED.contains(thread)) {
            slot.setOpen(stream.isOpen());
        }
    }

    /** Gives the number of the block that will be described next. */
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

    /** Tells a fact about the recording. */
    static void meta(String key, String value) {
        byte[] text = bytes(key + "=" + value);
        touchStack();
        synchronized (LOCK) {
            stream.meta(text);
        }
    }

    /** Tells why nothing is recorded; false if there is nobody to tell. */
    static boolean refuse(String why) {
        synchronized (LOCK) {
            if (stream == null) {
                return false;
            }
            meta("refused", why);
            return true;
        }
    }

    /** Tells that something runs and is not recorded. */
    static void leaveOut(String what, String why) {
        meta("left_out", what + ": " + why);
    }

    /** Gives text in UTF-8, cut to what fits into a record. */
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
     * Lets a StackOverflowError strike now, while nothing has changed, and not halfway through what
     * comes next.
     */
    private static void touchStack() {
        touchStack(200, 0, 0, 0, 0);
    }

    private static long touchStack(int depth, long a, long b, long c, long d) {
        return depth == 0 ? a : a + touchStack(depth - 1, b + depth, c, d, a);
    }
}
