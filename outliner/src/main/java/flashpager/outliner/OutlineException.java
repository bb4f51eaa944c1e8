package flashpager.outliner;

/** What was given cannot be outlined; the message says why, in one line. */
final class OutlineException extends RuntimeException {
    private static final long serialVersionUID = 1;

    OutlineException(String message) {
        super(message);
    }
}
