package flashpager.outliner;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.objectweb.asm.Type;

/** How often each part of each method was executed. */
final class Profile {
    /** A part of a method's code, in bytes of the class file. */
    record Part(int start, int end, long times) {}

    /** A method that was executed: the length of its code, and its parts in their order. */
    record Method(int bytes, List<Part> parts) {
        /** How often the byte at an offset was executed. */
        long times(int offset) {
            for (Part part : parts) {
                if (offset >= part.start && offset < part.end) {
                    return part.times;
                }
            }
            return 0;
        }
    }

    private final Map<String, Method> methods = new HashMap<>();
    private final Map<String, Boolean> used = new HashMap<>();

    /**
     * Reads lines of {@code name TAB bytes TAB start TAB end TAB times}: a method as people write
     * it ({@code com.acme.Foo.bar(int,byte[])}), the length of its code, and a part of it.
     */
    static Profile read(Path file) throws IOException {
        Profile profile = new Profile();
        for (String line : Files.readAllLines(file)) {
            String[] fields = line.split("\t");
            int bytes = Integer.parseInt(fields[1]);
            Part part =
                    new Part(
                            Integer.parseInt(fields[2]),
                            Integer.parseInt(fields[3]),
                            Long.parseLong(fields[4]));
            profile.methods
                    .computeIfAbsent(fields[0], name -> new Method(bytes, new ArrayList<>()))
                    .parts
                    .add(part);
        }
        return profile;
    }

    /** What is known of a method, or null if nothing was executed of it. */
    Method of(String owner, String name, String descriptor) {
        String text = text(owner, name, descriptor);
        used.put(text, true);
        return methods.get(text);
    }

    /** How many methods were executed, and how many of these have been asked for. */
    int size() {
        return methods.size();
    }

    /** How many of the methods executed have been asked for. */
    long found() {
        return methods.keySet().stream().filter(used::containsKey).count();
    }

    /** A method as the recorder names it. */
    static String text(String owner, String name, String descriptor) {
        List<String> types = new ArrayList<>();
        for (Type type : Type.getArgumentTypes(descriptor)) {
            types.add(type.getClassName());
        }
        return owner.replace('/', '.') + '.' + name + '(' + String.join(",", types) + ')';
    }
}
