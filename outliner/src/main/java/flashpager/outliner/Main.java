package flashpager.outliner;

import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Enumeration;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

/**
 * The command {@code PROFILE SHARE BYTES IN OUT [CLASSPATH...]}: reads the jar or the folder IN and
 * writes it to OUT, with the cold parts of methods in methods of their own. Prints a line {@code
 * moved TAB method TAB into TAB bytes TAB times} for each part, a line {@code note TAB text} for
 * each note, and finally {@code methods TAB executed TAB found}.
 */
public final class Main {
    private Main() {}

    /** Runs the command. On an error it prints one line and exits with 2. */
    public static void main(String[] arguments) throws IOException {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        try {
            run(arguments, out);
        } catch (OutlineException error) {
            System.err.println(error.getMessage());
            System.exit(2);
        }
    }

    private static void run(String[] arguments, PrintStream out) throws IOException {
        Profile profile = Profile.read(Path.of(arguments[0]));
        Path from = Path.of(arguments[3]);
        Path to = Path.of(arguments[4]);
        List<URL> path = new ArrayList<>(List.of(from.toUri().toURL()));
        for (int i = 5; i < arguments.length; i++) {
            path.add(Path.of(arguments[i]).toUri().toURL());
        }
        try (URLClassLoader classes = new URLClassLoader(path.toArray(new URL[0]))) {
            Outliner outliner =
                    new Outliner(
                            profile,
                            classes,
                            Double.parseDouble(arguments[1]),
                            Integer.parseInt(arguments[2]));
            if (Files.isDirectory(from)) {
                folder(from, to, outliner);
            } else {
                jar(from, to, outliner);
            }
            for (Outliner.Moved part : outliner.moved()) {
                out.println(
                        String.join(
                                "\t",
                                "moved",
                                part.method(),
                                part.into(),
                                String.valueOf(part.saved()),
                                String.valueOf(part.times())));
            }
            outliner.notes().forEach(note -> out.println("note\t" + note));
            out.println("methods\t" + profile.size() + "\t" + profile.found());
        }
    }

    private static void jar(Path from, Path to, Outliner outliner) throws IOException {
        try (ZipFile jar = new ZipFile(from.toFile());
                ZipOutputStream out = new ZipOutputStream(Files.newOutputStream(to))) {
            for (Enumeration<? extends ZipEntry> all = jar.entries(); all.hasMoreElements(); ) {
                ZipEntry entry = all.nextElement();
                if (entry.getName().matches("META-INF/[^/]*\\.(SF|RSA|DSA|EC)")) {
                    throw new OutlineException(
                            from + ": is signed, and changed code is not: take an unsigned jar");
                }
                byte[] bytes;
                try (var in = jar.getInputStream(entry)) {
                    bytes = in.readAllBytes();
                }
                ZipEntry written = new ZipEntry(entry.getName());
                written.setTime(entry.getTime());
                out.putNextEntry(written);
                out.write(rewritten(entry.getName(), bytes, outliner));
                out.closeEntry();
            }
        }
    }

    private static void folder(Path from, Path to, Outliner outliner) throws IOException {
        try (Stream<Path> all = Files.walk(from)) {
            all.sorted()
                    .forEach(
                            path -> {
                                Path target = to.resolve(from.relativize(path).toString());
                                try {
                                    if (Files.isDirectory(path)) {
                                        Files.createDirectories(target);
                                    } else {
                                        byte[] bytes = Files.readAllBytes(path);
                                        String name = path.toString();
                                        Files.write(target, rewritten(name, bytes, outliner));
                                    }
                                } catch (IOException error) {
                                    throw new UncheckedIOException(error);
                                }
                            });
        }
    }

    private static byte[] rewritten(String name, byte[] bytes, Outliner outliner) {
        boolean isClass = name.endsWith(".class") && !name.endsWith("module-info.class");
        if (!isClass) {
            return bytes;
        }
        try {
            return outliner.rewrite(bytes);
        } catch (IndexOutOfBoundsException | IllegalArgumentException error) {
            // ASM throws these exceptions for a file that is cut off or damaged.
            String reason = error.getMessage();
            throw new OutlineException(name + ": is not a complete class file: " + reason);
        }
    }
}
