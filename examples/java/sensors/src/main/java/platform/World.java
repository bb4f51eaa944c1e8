package platform;

import java.util.ArrayDeque;
import java.util.PriorityQueue;
import java.util.Random;

/** Virtual time, and everything that happens outside the mote's processor. */
final class World {
    /** An action at a time. Actions of the same time run in the order of their registration. */
    private record Action(long time, long order, Runnable action) implements Comparable<Action> {
        @Override
        public int compareTo(Action other) {
            int byTime = Long.compare(time, other.time);
            return byTime != 0 ? byTime : Long.compare(order, other.order);
        }
    }

    final Converter converter = new Converter(this);
    final Air air;
    private final PriorityQueue<Action> agenda = new PriorityQueue<>();
    private final ArrayDeque<Integer> interrupts = new ArrayDeque<>();
    private final long end;
    private long now;
    private long order;

    World(int seconds, int moteAddress) {
        end = (long) seconds * Machine.SECOND;
        air = new Air(this, moteAddress, end, new Random(20100414));
    }

    long now() {
        return now;
    }

    void in(long ticks, Runnable action) {
        agenda.add(new Action(now + ticks, order++, action));
    }

    void interrupt(int kind) {
        interrupts.add(kind);
    }

    int waitForInterrupt(int alarm) {
        long wake = now + Math.max(0, alarm - (int) now);
        while (interrupts.isEmpty()) {
            Action next = agenda.peek();
            long time = next == null ? wake : Math.min(wake, next.time);
            if (time >= end) {
                now = end;
                return Machine.POWER_OFF;
            }
            now = time;
            if (next == null || next.time > wake) {
                return Machine.ALARM;
            }
            agenda.poll().action.run();
        }
        return interrupts.poll();
    }
}
