package flashpager.recorder.cap;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Prints what tests/test_cap.py wants to know, in lines of words separated by tabs.
 *
 * <p>{@code place CAPS CLASS…} prints where each class file's borders are; {@code read CAPS…}
 * only reads each, and prints "read" or why it cannot be.
 */
public final class CapTool {
    private CapTool() {}

    public static void main(String[] arguments) throws IOException {
        if (arguments[0].equals("read")) {
            for (int i = 1; i < arguments.length; i++) {
                try {
                    say("read", CapImage.read(arguments[i]).bytes());
                } catch (CapException e) {
                    say("wrong", e.getMessage());
                }
            }
            return;
        }
        CapImage image = CapImage.read(arguments[1]);
        say("image", image.bytes());
        for (int i = 2; i < arguments.length; i++) {
            PlacedClass place = image.place(Files.readAllBytes(Path.of(arguments[i])));
            if (place == null) {
                say("elsewhere", arguments[i]);
                continue;
            }
            say("class", place.name, place.file, place.reason);
            for (PlacedMethod method : place.methods) {
                say("method", method.name, method.descriptor, method.address, method.headerBytes, method.bytes,
                        method.reason);
                int last = -1;
                for (int offset = 0; offset <= 0xffff; offset++) {
                    if (method.address(offset) >= 0) {
                        say("border", offset, method.address(offset),
                                last < 0 ? 0 : method.bytes(last, offset),
                                last < 0 ? 0 : method.instructions(last, offset));
                        last = offset;
                    }
                }
            }
        }
        for (CapImage.Stretch rest : image.rest()) {
            say("rest", rest.address, rest.bytes, rest.name);
        }
    }

    private static void say(Object... words) {
        StringBuilder line = new StringBuilder();
        for (Object word : words) {
            line.append(line.length() == 0 ? "" : "\t").append(word == null ? "-" : word);
        }
        System.out.println(line);
    }
}
