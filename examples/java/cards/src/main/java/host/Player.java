package host;

import host.Script.Section;
import host.Script.Statement;
import java.math.BigInteger;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.CRC32;

/**
 * Plays a script to a card. The CRC covers all answers with their status words, except the bytes
 * that the script captures, which may be random.
 */
final class Player {
    private static final Pattern CAPTURE = Pattern.compile("(\\w+)/(\\d+|\\*)");

    private final Script script;
    private final Card card;
    private final Map<String, byte[]> variables = new HashMap<>();
    private final CRC32 crc = new CRC32();
    private int commands;
    private int answerBytes;

    Player(Script script, Card card) {
        this.script = script;
        this.card = card;
    }

    int commands() {
        return commands;
    }

    int answerBytes() {
        return answerBytes;
    }

    long crc() {
        return crc.getValue();
    }

    void play(int sessions) throws ScriptException {
        for (int session = 0; session < sessions; session++) {
            variables.put("session", number(session));
            for (Section section : script.sections()) {
                if (section.isFor(session)) {
                    play(section.body(), session);
                }
            }
        }
    }

    private void play(List<Statement> statements, int session) throws ScriptException {
        for (Statement statement : statements) {
            try {
                play(statement, session);
            } catch (Failure | IllegalArgumentException e) {
                throw new ScriptException(script.name() + ":" + statement.line() + ": session " + session + ": "
                        + e.getMessage());
            }
        }
    }

    private void play(Statement statement, int session) throws ScriptException, Failure {
        String text = statement.text();
        if (text.equals("reset")) {
            card.reset();
        } else if (text.startsWith("let ")) {
            int sign = text.indexOf('=');
            variables.put(text.substring(4, sign).strip(), evaluate(text.substring(sign + 1)));
        } else if (text.startsWith("check ")) {
            int sign = text.indexOf('=');
            String found = Hex.encode(evaluate(text.substring(6, sign)));
            String wanted = Hex.encode(evaluate(text.substring(sign + 1)));
            if (!found.equals(wanted)) {
                throw new Failure(found + " is not " + wanted);
            }
        } else if (text.startsWith("repeat ")) {
            int times = Integer.parseInt(text.substring(7).strip());
            for (int i = 0; i < times; i++) {
                variables.put("i", number(i));
                play(statement.body(), session);
            }
        } else if (text.startsWith("while ")) {
            while (new BigInteger(1, evaluate(text.substring(6))).signum() != 0) {
                play(statement.body(), session);
            }
        } else {
            int arrow = text.indexOf("->");
            if (arrow < 0) {
                throw new Failure("neither a command with its answer nor a statement: " + text);
            }
            send(new Expression(text.substring(0, arrow), variables).command(), text.substring(arrow + 2).strip());
        }
    }

    private void send(byte[] command, String expected) throws Failure {
        byte[] answer = card.transmit(command);
        commands++;
        answerBytes += answer.length;
        byte[] shown = answer.clone();
        int at = 0;
        // The last word is the status. The others are bytes, or name/LENGTH, which captures bytes.
        int last = expected.lastIndexOf(' ') + 1;
        for (String part : split(expected.substring(0, last))) {
            Matcher capture = CAPTURE.matcher(part);
            if (capture.matches()) {
                int length = capture.group(2).equals("*")
                        ? answer.length - 2 - at : Integer.parseInt(capture.group(2));
                if (length < 0 || at + length > answer.length - 2) {
                    throw new Failure(Hex.encode(command) + " got " + Hex.encode(answer) + ", too short for " + part);
                }
                variables.put(capture.group(1), Arrays.copyOfRange(answer, at, at + length));
                Arrays.fill(shown, at, at + length, (byte) 0);
                at += length;
            } else {
                byte[] wanted = evaluate(part);
                if (at + wanted.length > answer.length
                        || !Arrays.equals(wanted, Arrays.copyOfRange(answer, at, at + wanted.length))) {
                    throw new Failure(Hex.encode(command) + " got " + Hex.encode(answer) + ", expected "
                            + Hex.encode(wanted) + " at byte " + at);
                }
                at += wanted.length;
            }
        }
        byte[] status = Arrays.copyOfRange(answer, answer.length - 2, answer.length);
        if (!Arrays.equals(status, evaluate(expected.substring(last))) || at != answer.length - 2) {
            throw new Failure(Hex.encode(command) + " got " + Hex.encode(answer) + ", expected " + expected);
        }
        crc.update(shown);
    }

    // Splits into words. A call with its arguments, a text or a <counted> part is one word.
    private static String[] split(String text) {
        StringBuilder parts = new StringBuilder();
        int depth = 0;
        boolean quoted = false;
        for (char c : text.strip().toCharArray()) {
            quoted ^= c == '"';
            if (!quoted) {
                depth += c == '(' || c == '<' ? 1 : c == ')' || c == '>' ? -1 : 0;
            }
            parts.append(c == ' ' && depth == 0 && !quoted ? '\n' : c);
        }
        return parts.isEmpty() ? new String[0] : parts.toString().split("\n+");
    }

    private byte[] evaluate(String text) {
        return new Expression(text, variables).bytes();
    }

    private static byte[] number(int value) {
        return new byte[] {(byte) (value >> 24), (byte) (value >> 16), (byte) (value >> 8), (byte) value};
    }

    private static final class Failure extends Exception {
        private static final long serialVersionUID = 1;

        Failure(String message) {
            super(message);
        }
    }
}
