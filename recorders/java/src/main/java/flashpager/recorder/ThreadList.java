package flashpager.recorder;

/**
 * A list of a few threads, compared by identity, as a program may define their equals. Its lock is
 * held only during a method of the list, so that it can be taken anywhere.
 */
final class ThreadList {
    private Thread[] threads = new Thread[16];
    private int size;

    synchronized boolean contains(Thread thread) {
        return find(thread) >= 0;
    }

    synchronized void add(Thread thread) {
        if (size == threads.length) {
            Thread[] more = new Thread[2 * size];
            System.arraycopy(threads, 0, more, 0, size);
            threads = more;
        }
        threads[size++] = thread;
    }

    /** Removes a thread, once if it was added more than once. */
    synchronized void remove(Thread thread) {
        int at = find(thread);
        if (at >= 0) {
            threads[at] = threads[--size];
            threads[size] = null;
        }
    }

    private int find(Thread thread) {
        for (int i = 0; i < size; i++) {
            if (threads[i] == thread) {
                return i;
            }
        }
        return -1;
    }
}
