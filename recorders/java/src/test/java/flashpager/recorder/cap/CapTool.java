package flashpager.recorder.cap;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Prints properties of CAP files for tests/face/test_cap.py, in lines of words separated by tabs.
 *
 * <p>{@code place CAPS CLASS…} prints the addresses of each class file's instructions. {@code each
 * CLASS… CAPS…} places all class files in each of the CAP files, and prints "read" or the error.
 */
public final class CapTool {
    private CapTool() {}

    public static void main(String[] arguments) throws IOException {
        if (arguments[0].equals("each")) {
            List<byte[]> classes = new ArrayList<>();
            for (int i = 1; i < arguments.length; i++) {
                if (arguments[i].endsWith(".class")) {
                    classes.add(Files.readAllBytes(Path.of(arguments[i])));
                } else {
                    print(answer(arguments[i], classes));
                }
            }
            return;
        }
        CapImage image = CapImage.read(arguments[1]);
        print("image", image.bytes());
        for (int i = 2; i < arguments.length; i++) {
            PlacedClass place = image.place(Files.readAllBytes(Path.of(arguments[i])));
            if (place == null) {
                print("elsewhere", arguments[i]);
                continue;
            }
            print("class", place.name, place.file, place.reason);
            for (PlacedMethod method : place.methods) {
                print(
                        "method",
                        method.name,
                        method.descriptor,
                        method.address,
                        method.headerBytes,
                        method.bytes,
                        method.reason);
                int last = -1;
                for (int offset = 0; offset <= 0xffff; offset++) {
                    if (method.address(offset) >= 0) {
                        print(
                                "border",
                                offset,
                                method.address(offset),
                                last < 0 ? 0 : method.bytes(last, offset),
                                last < 0 ? 0 : method.instructions(last, offset));
                        last = offset;
                    }
                }
            }
        }
        for (CapImage.Stretch rest : image.rest()) {
            print("rest", rest.address, rest.bytes, rest.name);
        }
    }

    private static Object[] answer(String caps, List<byte[]> classes) throws IOException {
        CapImage image;
        try {
            image = CapImage.read(caps);
        } catch (CapException e) {
            return new Object[] {"wrong", e.getMessage()};
        }
        for (byte[] file : classes) {
            image.place(file);
        }
        image.rest();
        return new Object[] {"read"};
    }

    private static void print(Object... words) {
        StringBuilder line = new StringBuilder();
        for (Object word : words) {
            line.append(line.length() == 0 ? "" : "\t").append(word == null ? "-" : word);
        }
        System.out.println(line);
    }
}
