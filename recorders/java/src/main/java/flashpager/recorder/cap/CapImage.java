package flashpager.recorder.cap;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The code of one or more CAP files as it lies on a card: the info items of their Method
 * components, one file after another. Section 6.9 describes such an item: exception handlers, then
 * methods, each a header and bytecodes. The image lacks everything that a card adds or resolves
 * when it loads the files.
 *
 * <p>{@link #place} finds a class file's methods in the image. If the CAP file has a Debug
 * component (6.14), they are found by name. Otherwise a class is matched with the one class of the
 * CAP file's package that has as many interfaces and the same shapes of fields and methods (6.13).
 * If there are several such classes, it is the only one whose methods all match ({@link
 * Alignment}). Methods are then paired in order or, if the orders differ, by shape and code where
 * these leave one choice. Methods without a match have no place.
 */
public final class CapImage {
    /** A stretch of the image. */
    public static final class Stretch {
        public final int address;
        public final int bytes;
        public final String name;

        Stretch(int address, int bytes, String name) {
            this.address = address;
            this.bytes = bytes;
            this.name = name;
        }
    }

    private final List<CapFile> files = new ArrayList<>();

    /** Address of each file's Method component. */
    private final int[] bases;

    private final List<Stretch> placed = new ArrayList<>();
    private int bytes;

    private CapImage(int count) {
        bases = new int[count];
    }

    /** Reads CAP files from paths separated by colons. */
    public static CapImage read(String paths) throws CapException {
        List<String> each = new ArrayList<>();
        int start = 0;
        while (start <= paths.length()) {
            int end = paths.indexOf(':', start);
            end = end < 0 ? paths.length() : end;
            if (end > start) {
                each.add(paths.substring(start, end));
            }
            start = end + 1;
        }
        if (each.isEmpty()) {
            throw new CapException("cap=" + paths, "it names no file");
        }
        CapImage image = new CapImage(each.size());
        for (String path : each) {
            CapFile file = CapFile.read(path);
            for (CapFile other : image.files) {
                if (other.packageName.equals(file.packageName)) {
                    throw new CapException(
                            path, "it has the package " + file.packageName + " of " + other.path);
                }
            }
            image.bases[image.files.size()] = image.bytes;
            image.bytes += file.code.length;
            image.files.add(file);
        }
        return image;
    }

    /** Returns the bytes of the image. */
    public int bytes() {
        return bytes;
    }

    /** Returns whether the package of a class, named with slashes, is in the image. */
    public boolean hasPackage(String className) {
        return file(className) >= 0;
    }

    private int file(String className) {
        String packageName = className.substring(0, Math.max(0, className.lastIndexOf('/')));
        for (int i = 0; i < files.size(); i++) {
            if (files.get(i).packageName.equals(packageName)) {
                return i;
            }
        }
        return -1;
    }

    /**
     * Returns the places of a class's methods, or null if its package is not in the image. Safe for
     * threads.
     *
     * @param classFile the class file that the converter got
     */
    public synchronized PlacedClass place(byte[] classFile) throws CapException {
        Type java = Type.read(classFile, false);
        int index = file(java.name);
        if (index < 0) {
            return null;
        }
        CapFile file = files.get(index);
        Type card = null;
        String reason = null;
        if (file.hasNames) {
            for (Type type : file.types) {
                if (java.name.equals(type.name)) {
                    card = type;
                }
            }
            reason = "the CAP file has no such class";
        } else {
            List<Type> alike = new ArrayList<>();
            String allFields = Type.read(classFile, true).fields;
            for (Type type : file.types) {
                if (isAlike(java, type, allFields)) {
                    alike.add(type);
                }
            }
            if (alike.size() > 1) {
                for (int i = alike.size() - 1; i >= 0; i--) {
                    if (!agrees(java, alike.get(i))) {
                        alike.remove(i);
                    }
                }
                reason =
                        alike.size() + " classes of the CAP file look like it, and it has no names";
            } else {
                reason = "no class of the CAP file looks like it, and it has no names";
            }
            card = alike.size() == 1 ? alike.get(0) : null;
        }
        if (card != null && card.taken != null && !card.taken.equals(java.name)) {
            reason = "the class of the CAP file that looks like it is " + card.taken;
            card = null;
        }
        if (card == null) {
            return new PlacedClass(java.name, file.path, reason, new PlacedMethod[0]);
        }
        boolean isNew = card.taken == null;
        card.taken = java.name;
        return new PlacedClass(java.name, file.path, null, methods(java, card, index, isNew));
    }

    private static boolean isAlike(Type java, Type card, String allFields) {
        if (java.isInterface != card.isInterface
                || java.isAbstract != card.isAbstract
                || java.interfaces != card.interfaces
                || !java.fields.equals(card.fields) && !allFields.equals(card.fields)) {
            return false;
        }
        String[] ours = signatures(java);
        String[] theirs = signatures(card);
        Arrays.sort(ours);
        Arrays.sort(theirs);
        return Arrays.equals(ours, theirs);
    }

    /**
     * Returns the flags and shapes of the methods in order, without class initializers, which a
     * card does not have.
     */
    private static String[] signatures(Type type) {
        List<String> signatures = new ArrayList<>();
        for (Method method : type.methods) {
            if (!method.isInitializer()) {
                signatures.add(method.signature());
            }
        }
        return signatures.toArray(new String[0]);
    }

    private static boolean agrees(Type java, Type card) {
        for (Method method : java.methods) {
            if (method.flow != null && !method.isInitializer()) {
                Method other = counterpart(java, card, method);
                if (other == null || new Alignment(method, other).reason != null) {
                    return false;
                }
            }
        }
        return true;
    }

    /** Returns the card's method for a method of the class file, or null. */
    private static Method counterpart(Type java, Type card, Method method) {
        if (card.name != null) {
            for (Method other : card.methods) {
                if (other.name.equals(method.name) && other.descriptor.equals(method.descriptor)) {
                    return other;
                }
            }
            return null;
        }
        boolean isOrdered = Arrays.equals(signatures(java), signatures(card));
        int nth = 0;
        for (Method other : java.methods) {
            if (other == method) {
                break;
            }
            nth += other.isInitializer() ? 0 : 1;
        }
        if (isOrdered) {
            return card.methods[nth];
        }
        Method match = null;
        for (Method other : card.methods) {
            if (other.signature().equals(method.signature())
                    && new Alignment(method, other).reason == null) {
                if (match != null) {
                    return null;
                }
                match = other;
            }
        }
        // The match must not fit another method of the class file, too.
        for (Method other : java.methods) {
            if (match != null
                    && other != method
                    && other.flow != null
                    && other.signature().equals(match.signature())
                    && new Alignment(other, match).reason == null) {
                return null;
            }
        }
        return match;
    }

    private PlacedMethod[] methods(Type java, Type card, int index, boolean isNew) {
        List<PlacedMethod> methods = new ArrayList<>();
        for (Method method : java.methods) {
            if (method.flow == null) {
                continue;
            }
            Method other = method.isInitializer() ? null : counterpart(java, card, method);
            if (other == null) {
                String reason =
                        method.isInitializer()
                                ? "a card has no class initializers"
                                : "its method of the CAP file is unknown";
                methods.add(new PlacedMethod(method, null, 0, null, reason));
                continue;
            }
            Alignment alignment = new Alignment(method, other);
            PlacedMethod place =
                    new PlacedMethod(method, other, bases[index], alignment, alignment.reason);
            methods.add(place);
            if (isNew && other.codeBytes > 0) {
                String name = java.name + '.' + place.name + place.descriptor;
                placed.add(new Stretch(place.address, place.bytes, name));
            }
        }
        return methods.toArray(new PlacedMethod[0]);
    }

    /**
     * Returns the parts of the image that no placed class has claimed, in ascending order: the
     * exception handlers of each file and the methods of classes that were not placed. Claimed and
     * unclaimed parts together are the whole image.
     */
    public synchronized List<Stretch> rest() {
        boolean[] taken = new boolean[bytes];
        for (Stretch one : placed) {
            Arrays.fill(taken, one.address, one.address + one.bytes, true);
        }
        List<Stretch> rest = new ArrayList<>();
        for (int i = 0; i < files.size(); i++) {
            CapFile file = files.get(i);
            boolean[] starts = new boolean[file.code.length + 1];
            starts[file.handlerBytes] = true;
            starts[file.code.length] = true;
            for (Type type : file.types) {
                for (Method method : type.methods) {
                    starts[method.codeBytes > 0 ? method.offset : 0] = true;
                }
            }
            int from = 0;
            while (from < file.code.length) {
                int end = from + 1;
                boolean isTaken = taken[bases[i] + from];
                while (!starts[end] && taken[bases[i] + end] == isTaken) {
                    end++;
                }
                if (!isTaken) {
                    String name = from == 0 ? ": exception handlers" : ": method at " + from;
                    rest.add(new Stretch(bases[i] + from, end - from, file.packageName + name));
                }
                from = end;
            }
        }
        return rest;
    }
}
