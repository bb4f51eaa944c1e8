package sensors.net;

/** Remembers the messages that came last: those whose acknowledgement is lost come again. */
final class DuplicateFilter {
    private final int[] recent = new int[8];
    private int next;

    /** Whether the message is new; from now on it is not. */
    boolean isNew(int message) {
        for (int i = 0; i < recent.length; i++) {
            if (recent[i] == message) {
                return false;
            }
        }
        recent[next] = message;
        next = next + 1 & recent.length - 1;
        return true;
    }
}
