package sensors.net;

/** A table of the best neighbours. */
final class NeighbourTable {
    private static final int CAPACITY = 4;

    private final Neighbour[] entries = new Neighbour[CAPACITY];
    private int count;

    /** Returns the neighbour with this address, or null. */
    Neighbour find(int address) {
        for (int i = 0; i < count; i++) {
            if (entries[i].address == address) {
                return entries[i];
            }
        }
        return null;
    }

    /** Adds a neighbour. If the table is full, it replaces the costliest one that is not in use. */
    void enter(Neighbour newcomer, Neighbour used) {
        if (count < CAPACITY) {
            entries[count++] = newcomer;
            return;
        }
        int place = entries[0] == used ? 1 : 0;
        for (int i = place + 1; i < CAPACITY; i++) {
            if (entries[i] != used && entries[i].cost() > entries[place].cost()) {
                place = i;
            }
        }
        entries[place] = newcomer;
    }

    /** Returns the cheapest neighbour whose route does not lead through {@code self}, or null. */
    Neighbour best(int self) {
        Neighbour best = null;
        for (int i = 0; i < count; i++) {
            Neighbour candidate = entries[i];
            if (candidate.parent != self && (best == null || candidate.cost() < best.cost())) {
                best = candidate;
            }
        }
        return best;
    }
}
