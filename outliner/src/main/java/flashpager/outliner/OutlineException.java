package flashpager.outliner;

/** Input that cannot be outlined. The message gives the reason in one line. */
final class OutlineException extends RuntimeException {
    private static final long serialVersionUID = 1;

    OutlineException(String message) {
        super(message);
    }
}
