package sensors.net;

/** Remembers the last messages, because one is sent again if its acknowledgement is lost. */
final class DuplicateFilter {
    private final int[] recent = new int[8];
    private int next;

    /** Returns true if the message is new, and remembers it. */
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
