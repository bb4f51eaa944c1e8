package host;

/** A script is malformed, or an answer of the card is not the expected one. */
final class ScriptException extends Exception {
    private static final long serialVersionUID = 1;

    ScriptException(String message) {
        super(message);
    }
}
