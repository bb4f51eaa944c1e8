package flashpager.recorder;

import java.util.ArrayList;
import java.util.List;

/**
 * The options of the agent: {@code pipe=7;tail=8;include=com.acme.*,org.x.Y;one-stream;
 * cap=a.cap:b.cap}.
 *
 * @param pipe file descriptor of the pipe to which the stream goes
 * @param tail file descriptor of the memory that the recorder shares with the reader
 * @param include patterns of the classes to record; empty for the program's own
 * @param oneStream whether the blocks of all threads are kept in their common order
 * @param cap CAP files, separated by colons, whose Method components are the image; or null
 */
record Options(int pipe, int tail, List<String> include, boolean oneStream, String cap) {

    /**
     * Parses the text after the agent's {@code =}.
     *
     * @throws IllegalArgumentException if an option is unknown or wrong
     */
    static Options parse(String text) {
        int pipe = -1;
        int tail = -1;
        boolean oneStream = false;
        String cap = null;
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
            } else if (item.startsWith("cap=")) {
                cap = item.substring("cap=".length());
            } else if (item.equals("one-stream")) {
                oneStream = true;
            } else if (!item.isEmpty()) {
                throw new IllegalArgumentException("unknown argument '" + item + "'");
            }
        }
        if (pipe < 0 || tail < 0) {
            throw new IllegalArgumentException("needs pipe=FD and tail=FD, both open");
        }
        return new Options(pipe, tail, include, oneStream, cap);
    }

    private static int descriptor(String item) {
        try {
            return Integer.parseInt(item.substring(item.indexOf('=') + 1));
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("'" + item + "' is no file descriptor", e);
        }
    }
}
