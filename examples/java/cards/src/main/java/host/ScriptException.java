package host;

/** Something is wrong with a script, or the card did not answer as it says. */
final class ScriptException extends Exception {
    private static final long serialVersionUID = 1;

    ScriptException(String message) {
        super(message);
    }
}
