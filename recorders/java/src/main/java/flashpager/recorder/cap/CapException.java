package flashpager.recorder.cap;

import java.io.IOException;

/**
 * A file that cannot be read as required. The message is one line: the file, then the problem.
 */
public final class CapException extends IOException {
    private static final long serialVersionUID = 1;

    CapException(String file, String problem) {
        super(file + ": " + problem);
    }
}
