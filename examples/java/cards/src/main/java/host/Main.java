package host;

import java.io.IOException;
import java.util.Map;

/**
 * Sends a card's script to its applet and checks every answer:
 * {@code java -jar cards.jar purse|oath|oath-soft|pki [sessions]}.
 * Prints one line with the number of commands and a CRC. If an answer is not the expected one, the
 * program ends with one line on standard error and exit status 1.
 */
public final class Main {
    /** A program: its applet, the applet's install parameter, and its script. */
    private record Program(String applet, String aid, String parameter, String script, int sessions) {
    }

    private static final Map<String, Program> PROGRAMS = Map.of(
            "purse", new Program("cards.purse.PurseApplet", "F00000465001",
                    "404142434445464748494A4B4C4D4E4F", "purse", 20),
            "oath", new Program("cards.oath.OathApplet", "A000000527210101", "00", "oath", 20),
            "oath-soft", new Program("cards.oath.OathApplet", "A000000527210101", "01", "oath", 2),
            "pki", new Program("cards.pki.PkiApplet", "F00000465003", "3132333435363738", "pki", 20));

    private Main() {
    }

    /** Runs the program that the first argument names. */
    public static void main(String[] arguments) {
        Program program = arguments.length == 0 ? null : PROGRAMS.get(arguments[0]);
        int sessions = program == null ? 0 : program.sessions();
        if (arguments.length == 2) {
            sessions = arguments[1].matches("[0-9]{1,6}") ? Integer.parseInt(arguments[1]) : 0;
        }
        if (sessions == 0 || arguments.length > 2) {
            System.err.println("usage: java -jar cards.jar purse|oath|oath-soft|pki [sessions]");
            System.exit(2);
        }
        try {
            Script script = Script.read("/scripts/" + program.script() + ".apdu");
            Card card = new Card(program.applet(), Hex.decode(program.aid()), Hex.decode(program.parameter()));
            Player player = new Player(script, card);
            player.play(sessions);
            System.out.printf("%s: %d sessions, %d commands, %d answer bytes, CRC-32 %08x%n",
                    arguments[0], sessions, player.commands(), player.answerBytes(), player.crc());
        } catch (ScriptException | IOException e) {
            System.err.println("cards: " + arguments[0] + ": " + e.getMessage());
            System.exit(1);
        }
    }
}
