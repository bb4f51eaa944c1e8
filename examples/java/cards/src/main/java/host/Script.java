package host;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A script, in the format of README.md: sections of statements, each for some of the sessions.
 * Sessions are numbered from 0.
 */
final class Script {
    /** A statement. The {@code body} is empty unless the statement is a loop. */
    record Statement(int line, String text, List<Statement> body) {
    }

    /** Statements for the sessions whose number modulo {@code every} is {@code rest}. */
    record Section(int every, int rest, boolean once, List<Statement> body) {
        boolean isFor(int session) {
            return once ? session == 0 : session % every == rest;
        }
    }

    private static final Pattern SECTION = Pattern.compile("\\[(once|session)(?: (\\d+) of (\\d+))?\\]");

    private final String name;
    private final List<Section> sections;

    private Script(String name, List<Section> sections) {
        this.name = name;
        this.sections = sections;
    }

    String name() {
        return name;
    }

    List<Section> sections() {
        return sections;
    }

    static Script read(String resource) throws IOException, ScriptException {
        InputStream stream = Script.class.getResourceAsStream(resource);
        if (stream == null) {
            throw new ScriptException("no script " + resource);
        }
        String name = resource.substring(resource.lastIndexOf('/') + 1);
        List<Section> sections = new ArrayList<>();
        Deque<List<Statement>> open = new ArrayDeque<>();
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8))) {
            int number = 0;
            int begun = 0;
            StringBuilder text = new StringBuilder();
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                number++;
                int comment = line.indexOf('#');
                String part = (comment < 0 ? line : line.substring(0, comment)).strip();
                if (text.isEmpty()) {
                    begun = number;
                }
                text.append(part);
                if (part.endsWith("\\")) {
                    text.setLength(text.length() - 1);
                    text.append(' ');
                    continue;
                }
                String statement = text.toString();
                text.setLength(0);
                if (statement.isEmpty()) {
                    continue;
                }
                Matcher section = SECTION.matcher(statement);
                if (section.matches()) {
                    sections.add(section(section));
                    open.clear();
                    open.push(sections.get(sections.size() - 1).body());
                } else if (open.isEmpty()) {
                    throw new ScriptException(name + ":" + begun + ": a statement before the first [section]");
                } else if (statement.equals("end")) {
                    open.pop();
                } else {
                    Statement made = new Statement(begun, statement, new ArrayList<>());
                    open.peek().add(made);
                    if (statement.startsWith("repeat ") || statement.startsWith("while ")) {
                        open.push(made.body());
                    }
                }
            }
        }
        return new Script(name, sections);
    }

    private static Section section(Matcher match) {
        int every = match.group(3) == null ? 1 : Integer.parseInt(match.group(3));
        int rest = match.group(2) == null ? 0 : Integer.parseInt(match.group(2)) % every;
        return new Section(every, rest, match.group(1).equals("once"), new ArrayList<>());
    }
}
