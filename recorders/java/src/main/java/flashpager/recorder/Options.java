package flashpager.recorder;

import java.util.ArrayList;
import java.util.List;

/**
 * What the agent is told: {@code pipe=7;tail=8;include=com.acme.*,org.x.Y;one-stream}.
 *
 * @param pipe file descriptor of the pipe to which the stream goes
 * @param tail file descriptor of the memory that the recorder shares with the reader
 * @param include patterns of the classes to record; empty for the program's own
 * @param oneStream whether the blocks of all threads are kept in their common order
 */
record Options(int pipe, int tail, List<String> include, boolean oneStream) {

    /**
     * Reads the text behind the agent's {@code =}.
     *
     * @throws IllegalArgumentException if it is not understood
     */
    static Options parse(String text) {
        int pipe = -1;
        int tail = -1;
        boolean oneStream = false;
        List<String> include = new ArrayList<>();
        for (String item : (text == null ? "" : text).split(";")) {
            if (item.startsWith("pipe=")) {
                pipe = descriptor(item);
            } else if (item.startsWith("tail=")) {
                tail = descriptor(item);
            } else if (item.startsWith("include=")) {
                for (String pattern : item.substring("include=".length()).split(",")) {
                    if (!pattern.isEmpty()) {
                        include.add(pattern);
                    }
                }
            } else if (item.equals("one-stream")) {
                oneStream = true;
            } else if (!item.isEmpty()) {
                throw new IllegalArgumentException("unknown argument '" + item + "'");
            }
        }
        if (pipe < 0 || tail < 0) {
            throw new IllegalArgumentException("needs pipe=FD and tail=FD, both open");
        }
        return new Options(pipe, tail, include, oneStream);
    }

    private static int descriptor(String item) {
        try {
            return Integer.parseInt(item.substring(item.indexOf('=') + 1));
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("'" + item + "' is no file descriptor", e);
        }
    }
}
