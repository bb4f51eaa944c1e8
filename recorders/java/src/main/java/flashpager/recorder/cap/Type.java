package flashpager.recorder.cap;

import java.util.Arrays;

/** A class or interface of a class file or a CAP file. */
final class Type {
    /** Its name with slashes, as in the class file; null if a CAP file has no Debug component. */
    String name;

    boolean isInterface;
    boolean isAbstract;
    int interfaces;

    /**
     * Access flags and shapes of the fields in order: "4S 2[B". Null if only the Debug component
     * was read.
     */
    String fields;

    Method[] methods;

    /** Its location in the Class component; -1 in a class file. */
    int location = -1;

    /** Name of the class file that was matched with it, or null. */
    String taken;

    static final int CONSTRUCTOR = 128;
    private static final int ABSTRACT = 64;

    /**
     * Reads a class file (Java Virtual Machine Specification, chapter 4).
     *
     * @param allFields whether constants, which a converter may leave out, count as fields
     */
    static Type read(byte[] classFile, boolean allFields) throws CapException {
        Bytes in = new Bytes(classFile, "class file", "contents");
        if (in.s4() != 0xcafebabe) {
            throw in.wrong("not a class file");
        }
        in.skip(4);
        int[] constants = constants(in);
        Type type = new Type();
        int flags = in.u2();
        type.isInterface = (flags & 0x200) != 0;
        type.isAbstract = (flags & 0x400) != 0;
        type.name = className(in, constants, in.u2());
        in.skip(2);
        type.interfaces = in.u2();
        in.skip(2L * type.interfaces);
        type.fields = fields(in, constants, allFields);
        Method[] methods = new Method[in.u2()];
        for (int i = 0; i < methods.length; i++) {
            methods[i] = method(in, constants, type.name);
        }
        type.methods = methods;
        return type;
    }

    /** Returns the offsets of the constants, after their tags. */
    private static int[] constants(Bytes in) throws CapException {
        int[] constants = new int[in.u2()];
        for (int i = 1; i < constants.length; i++) {
            int tag = in.u1();
            constants[i] = in.at;
            switch (tag) {
                case 1 -> in.skip(in.u2());
                case 3, 4, 9, 10, 11, 12, 17, 18 -> in.skip(4);
                case 5, 6 -> {
                    in.skip(8);
                    i++;
                }
                case 7, 8, 16, 19, 20 -> in.skip(2);
                case 15 -> in.skip(3);
                default -> throw in.wrong("constant " + i + " has the tag " + tag);
            }
        }
        return constants;
    }

    private static int constant(Bytes in, int[] constants, int index) throws CapException {
        if (index == 0 || index >= constants.length || constants[index] == 0) {
            throw in.wrong("there is no constant " + index);
        }
        return constants[index];
    }

    private static String text(Bytes in, int[] constants, int index) throws CapException {
        int back = in.at;
        in.seek(constant(in, constants, index));
        String text = in.text(in.u2());
        in.seek(back);
        return text;
    }

    private static String className(Bytes in, int[] constants, int index) throws CapException {
        int back = in.at;
        in.seek(constant(in, constants, index));
        String name = text(in, constants, in.u2());
        in.seek(back);
        return name;
    }

    private static String fields(Bytes in, int[] constants, boolean all) throws CapException {
        StringBuilder fields = new StringBuilder();
        for (int left = in.u2(); left > 0; left--) {
            int flags = in.u2();
            in.skip(2);
            String shape = Method.shape(text(in, constants, in.u2()));
            boolean isConstant = false;
            for (int attributes = in.u2(); attributes > 0; attributes--) {
                isConstant |= text(in, constants, in.u2()).equals("ConstantValue");
                in.skip(in.s4());
            }
            if (all || !isConstant || (flags & 0x18) != 0x18) {
                fields.append(flags & 0x1f).append(shape).append(' ');
            }
        }
        return fields.toString();
    }

    private static Method method(Bytes in, int[] constants, String owner) throws CapException {
        Method method = new Method();
        int flags = in.u2();
        method.name = text(in, constants, in.u2());
        method.descriptor = text(in, constants, in.u2());
        method.shape = Method.shape(method.descriptor);
        method.flags =
                flags & 0x1f
                        | ((flags & 0x400) != 0 ? ABSTRACT : 0)
                        | (method.name.equals("<init>") ? CONSTRUCTOR : 0);
        for (int attributes = in.u2(); attributes > 0; attributes--) {
            boolean isCode = text(in, constants, in.u2()).equals("Code");
            int size = in.s4();
            int start = in.at;
            in.skip(size);
            int next = in.at;
            if (isCode) {
                in.seek(start).skip(4);
                method.codeBytes = in.s4();
                int code = in.at;
                method.flow = JavaCode.flow(in, method.codeBytes);
                in.seek(code).skip(method.codeBytes);
                int[] handlers = new int[in.u2()];
                for (int i = 0; i < handlers.length; i++) {
                    in.skip(4);
                    handlers[i] = in.u2();
                    in.skip(2);
                    if (!method.flow.isStart(handlers[i])) {
                        throw in.wrong(
                                "a handler of "
                                        + owner
                                        + '.'
                                        + method.name
                                        + " starts in no instruction");
                    }
                }
                method.handlers = ascending(handlers, handlers.length);
            }
            in.seek(next);
        }
        return method;
    }

    /** Returns the first {@code count} numbers in order, each once. */
    static int[] ascending(int[] numbers, int count) {
        int[] sorted = Arrays.copyOf(numbers, count);
        Arrays.sort(sorted);
        int kept = 0;
        for (int i = 0; i < count; i++) {
            if (i == 0 || sorted[i] != sorted[i - 1]) {
                sorted[kept++] = sorted[i];
            }
        }
        return Arrays.copyOf(sorted, kept);
    }
}
