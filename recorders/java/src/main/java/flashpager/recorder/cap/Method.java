package flashpager.recorder.cap;

/** A method of a class file or a CAP file. */
final class Method {
    /** Its name, as in the class file; null if a CAP file has no Debug component. */
    String name;

    String descriptor;

    /**
     * Its types as a Descriptor component has them (6.13), without the names of classes: "(L[BS)V"
     * has an object, a byte array and a short as parameters.
     */
    String shape;

    /**
     * Access flags of 6.13: public 1, private 2, protected 4, static 8, final 16, abstract 64,
     * constructor 128.
     */
    int flags;

    /**
     * In a CAP file: the start of its header in the info item of the Method component, the header's
     * bytes, and the code's bytes.
     */
    int offset;

    int headerBytes;
    int codeBytes;

    /** Its flow; null if it has no code, or if the code cannot be read. */
    Flow flow;

    /** The reason why the code has no flow; null if it has one. */
    String damage;

    /** Starts of its exception handlers in the code, ascending, each once. */
    int[] handlers = {};

    /** Returns the method's flags and shape, by which methods without names are compared. */
    String signature() {
        return flags + shape;
    }

    boolean isInitializer() {
        return "<clinit>".equals(name);
    }

    /** Returns the shape of a class file's descriptor. */
    static String shape(String descriptor) {
        StringBuilder shape = new StringBuilder();
        boolean isArray = false;
        for (int i = 0; i < descriptor.length(); i++) {
            char letter = descriptor.charAt(i);
            if (letter == '[') {
                isArray = true;
                continue;
            }
            if (isArray) {
                shape.append('[');
            }
            isArray = false;
            shape.append(letter == 'C' ? 'S' : letter);
            if (letter == 'L') {
                int end = descriptor.indexOf(';', i);
                i = end < 0 ? descriptor.length() : end;
            }
        }
        return shape.toString();
    }
}
