package flashpager.recorder.cap;

/** A method as a class file or a CAP file has it. */
final class Method {
    /** As in the class file; null where a CAP file has no Debug component. */
    String name;

    String descriptor;

    /**
     * Its types as a Descriptor component can tell them (6.13): of class names only that there is
     * one, "(L[BS)V" for what takes an object, bytes and a short.
     */
    String shape;

    /**
     * Access flags of 6.13: public 1, private 2, protected 4, static 8, final 16, abstract 64,
     * constructor 128.
     */
    int flags;

    /**
     * In a CAP file, where its header starts in the info item of the Method component; bytes of it,
     * and of its code.
     */
    int offset;

    int headerBytes;
    int codeBytes;

    /** Null if there is no code, or it cannot be read. */
    Flow flow;

    /** Why there is code and no flow. */
    String damage;

    /** Starts of its exception handlers in the code, ascending, each once. */
    int[] handlers = {};

    String like() {
        return flags + shape;
    }

    boolean isInitializer() {
        return "<clinit>".equals(name);
    }

    /** The shape of a descriptor of a class file. */
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
