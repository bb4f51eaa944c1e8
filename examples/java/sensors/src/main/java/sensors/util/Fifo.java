package sensors.util;

/** A queue in a ring of fixed size. */
public final class Fifo<T> {
    private final Object[] ring;
    private int head;
    private int count;

    public Fifo(int capacity) {
        ring = new Object[capacity];
    }

    /** Appends an element. The caller ensures that the queue is not full. */
    public void add(T element) {
        int tail = head + count;
        if (tail >= ring.length) {
            tail -= ring.length;
        }
        ring[tail] = element;
        count++;
    }

    /** Removes the oldest element and returns it, or null. */
    @SuppressWarnings("unchecked")
    public T poll() {
        if (count == 0) {
            return null;
        }
        T element = (T) ring[head];
        ring[head] = null;
        if (++head == ring.length) {
            head = 0;
        }
        count--;
        return element;
    }
}
