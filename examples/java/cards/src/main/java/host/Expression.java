package host;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Evaluates bytes in a script: hexadecimal digits, {@code "text"}, {@code $variable},
 * {@code $function(bytes, …)}, and {@code <bytes>}, which get their BER length in front.
 */
final class Expression {
    private final String text;
    private final Map<String, byte[]> variables;
    private int at;

    Expression(String text, Map<String, byte[]> variables) {
        this.text = text;
        this.variables = variables;
    }

    /** Returns the bytes. Throws IllegalArgumentException if the text is wrong. */
    byte[] bytes() {
        return all(false);
    }

    /** Returns the bytes of a command. A length after the first four bytes has a single byte. */
    byte[] command() {
        return all(true);
    }

    private byte[] all(boolean command) {
        byte[] all = sequence(command);
        if (at < text.length()) {
            throw new IllegalArgumentException("'" + text.charAt(at) + "' is unexpected in " + text.strip());
        }
        return all;
    }

    private byte[] sequence(boolean command) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        while (at < text.length()) {
            char c = text.charAt(at);
            if (c == ' ') {
                at++;
            } else if (c == '<') {
                at++;
                byte[] inner = sequence(false);
                close('>');
                if (inner.length > 0xFF) {
                    out.write(0x82);
                    out.write(inner.length >> 8);
                } else if (inner.length > 0x7F && !(command && out.size() == 4)) {
                    out.write(0x81);
                }
                out.write(inner.length);
                out.writeBytes(inner);
            } else if (c == '"') {
                int end = text.indexOf('"', at + 1);
                if (end < 0) {
                    throw new IllegalArgumentException("a text without end in " + text.strip());
                }
                out.writeBytes(text.substring(at + 1, end).getBytes(StandardCharsets.US_ASCII));
                at = end + 1;
            } else if (c == '$') {
                at++;
                out.writeBytes(reference());
            } else if (Character.digit(c, 16) >= 0 && at + 1 < text.length()) {
                out.writeBytes(Hex.decode(text.substring(at, at + 2)));
                at += 2;
            } else {
                break;
            }
        }
        return out.toByteArray();
    }

    private byte[] reference() {
        int start = at;
        while (at < text.length() && Character.isLetterOrDigit(text.charAt(at))) {
            at++;
        }
        String name = text.substring(start, at);
        if (at < text.length() && text.charAt(at) == '(') {
            at++;
            List<byte[]> arguments = new ArrayList<>();
            arguments.add(sequence(false));
            while (at < text.length() && text.charAt(at) == ',') {
                at++;
                arguments.add(sequence(false));
            }
            close(')');
            return Functions.call(name, arguments);
        }
        byte[] value = variables.get(name);
        if (value == null) {
            throw new IllegalArgumentException("no variable $" + name);
        }
        return value;
    }

    private void close(char bracket) {
        if (at >= text.length() || text.charAt(at) != bracket) {
            throw new IllegalArgumentException("no '" + bracket + "' in " + text.strip());
        }
        at++;
    }
}
