package flashpager.outliner;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.objectweb.asm.Type;

/** Executions of the parts of each method. */
final class Profile {
    /** A part of a method's code, in bytes of the class file. */
    record Part(int start, int end, long times) {}

    /** An executed method: the length of its code, and its parts in order. */
    record Method(int bytes, List<Part> parts) {
        /** Returns how often the byte at an offset was executed. */
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
     * Reads lines of {@code name TAB bytes TAB start TAB end TAB times}: a method in its usual
     * notation ({@code com.acme.Foo.bar(int,byte[])}), the length of its code, and one part of it.
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

    /** Returns a method's profile, or null if it was never executed. */
    Method of(String owner, String name, String descriptor) {
        String text = text(owner, name, descriptor);
        used.put(text, true);
        return methods.get(text);
    }

    /** Returns the number of executed methods. */
    int size() {
        return methods.size();
    }

    /** Returns how many of the executed methods have been looked up. */
    long found() {
        return methods.keySet().stream().filter(used::containsKey).count();
    }

    /** Returns a method's name as the recorder writes it. */
    static String text(String owner, String name, String descriptor) {
        List<String> types = new ArrayList<>();
        for (Type type : Type.getArgumentTypes(descriptor)) {
            types.add(type.getClassName());
        }
        return owner.replace('/', '.') + '.' + name + '(' + String.join(",", types) + ')';
    }
}
