package flashpager.recorder.cap;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Enumeration;
import java.util.List;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/**
 * A CAP file of Java Card: a ZIP file of components. The components Header, Directory, Method, and
 * Descriptor or Debug are read. The format is described in the Java Card Virtual Machine
 * Specification, chapter 6; section numbers are those of version 2.2.2. The extended format of 3.1
 * (several packages, 32-bit offsets) is not supported.
 */
final class CapFile {
    private static final int MAX_COMPONENT_BYTES = 0xffff;
    private static final int EXTENDED_HEADER = 0x80;

    final String path;

    /** Name of the package, with slashes as in class files. */
    String packageName;

    /** The info item of the Method component (6.9). Offsets of methods count from its start. */
    byte[] code;

    /** Bytes of the exception handlers, before the first method. */
    int handlerBytes;

    /** True if names were read from a Debug component. */
    boolean hasNames;

    List<Type> types;

    private Bytes methods;

    private CapFile(String path) {
        this.path = path;
    }

    static CapFile read(String path) throws CapException {
        CapFile file = new CapFile(path);
        byte[] header;
        byte[] directory;
        byte[] descriptor;
        byte[] debug;
        try (ZipFile zip = new ZipFile(path)) {
            ZipEntry entry = file.find(zip);
            String folder = entry.getName();
            folder = folder.substring(0, folder.length() - "Method.cap".length());
            file.packageName = folder.substring(0, folder.length() - "/javacard/".length());
            header = file.component(zip, folder, "Header", 1, true);
            file.checkHeader(header);
            directory = file.component(zip, folder, "Directory", 2, true);
            file.code = file.component(zip, folder, "Method", 7, true);
            descriptor = file.component(zip, folder, "Descriptor", 11, false);
            debug = file.component(zip, folder, "Debug", 12, false);
        } catch (CapException e) {
            throw e;
        } catch (NoSuchFileException e) {
            throw new CapException(path, "there is no such file");
        } catch (IOException | IllegalArgumentException e) {
            throw new CapException(path, e.getMessage() == null ? e.toString() : e.getMessage());
        }
        // 6.4: the seventh of component_sizes[] is the Method component's.
        int listed = new Bytes(directory, path, "Directory.cap").skip(12).u2();
        if (listed != file.code.length) {
            String sizes = file.code.length + " bytes, but " + listed + " by its directory";
            throw new CapException(path, "its Method component has " + sizes);
        }
        file.methods = new Bytes(file.code, path, "Method.cap");
        file.handlerBytes = 1 + 8 * file.methods.u1();
        file.methods.seek(0).skip(file.handlerBytes);
        if (debug != null) {
            file.hasNames = true;
            file.readDebug(new Bytes(debug, path, "Debug.cap"));
        } else if (descriptor != null) {
            file.readDescriptor(new Bytes(descriptor, path, "Descriptor.cap"));
        } else {
            throw new CapException(
                    path,
                    "it has neither a Descriptor nor a Debug component,"
                            + " so the offsets of its methods are unknown");
        }
        file.checkOverlaps();
        return file;
    }

    private ZipEntry find(ZipFile zip) throws CapException {
        ZipEntry found = null;
        for (Enumeration<? extends ZipEntry> entries = zip.entries(); entries.hasMoreElements(); ) {
            ZipEntry entry = entries.nextElement();
            if (entry.getName().endsWith("/javacard/Method.cap")) {
                if (found != null) {
                    String both = found.getName() + " and " + entry.getName();
                    throw new CapException(path, "it has two Method components, " + both);
                }
                found = entry;
            }
        }
        if (found == null) {
            throw new CapException(
                    path, "it has no Method component (javacard/Method.cap), so it is no CAP file");
        }
        return found;
    }

    /** Returns the info item of a component, which follows its tag (8 bits) and size (16 bits). */
    private byte[] component(ZipFile zip, String folder, String name, int tag, boolean isNeeded)
            throws IOException {
        ZipEntry entry = zip.getEntry(folder + name + ".cap");
        if (entry == null) {
            if (isNeeded) {
                throw new CapException(path, "it has no " + name + " component");
            }
            return null;
        }
        byte[] all;
        try (InputStream in = zip.getInputStream(entry)) {
            all = in.readNBytes(3 + MAX_COMPONENT_BYTES + 1);
        }
        Bytes in = new Bytes(all, path, name + ".cap");
        int actualTag = in.u1();
        if (actualTag != tag) {
            throw in.wrong("its tag is " + actualTag + " instead of " + tag);
        }
        int size = in.u2();
        if (size != all.length - 3) {
            String actual =
                    all.length > 3 + MAX_COMPONENT_BYTES
                            ? "more than " + MAX_COMPONENT_BYTES
                            : "" + (all.length - 3);
            throw in.wrong("its size field is " + size + " bytes, but " + actual + " follow");
        }
        CRC32 crc = new CRC32();
        crc.update(all);
        if (entry.getCrc() != crc.getValue()) {
            throw in.wrong("it is damaged: its checksum does not match");
        }
        return Arrays.copyOfRange(all, 3, all.length);
    }

    /** Checks the Header component (6.3). */
    private void checkHeader(byte[] header) throws CapException {
        Bytes in = new Bytes(header, path, "Header.cap");
        if (in.s4() != 0xdecaffed) {
            throw in.wrong("it does not start with DECAFFED");
        }
        in.skip(2);
        if ((in.u1() & 8) != 0) {
            throw in.wrong(
                    "the extended format of Java Card 3.1 is not read, only the compact one");
        }
    }

    /** Reads types and methods from the Descriptor component (6.13). */
    private void readDescriptor(Bytes in) throws CapException {
        types = new ArrayList<>();
        int count = in.u1();
        // The types come last, so the methods' types are looked up at the end.
        List<int[]> shapes = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Type type = new Type();
            in.skip(1);
            int flags = in.u1();
            type.isInterface = (flags & 0x40) != 0;
            type.isAbstract = (flags & 0x80) != 0;
            type.location = in.u2();
            type.interfaces = in.u1();
            int fields = in.u2();
            type.methods = new Method[in.u2()];
            in.skip(2L * type.interfaces);
            int fieldsAt = in.at;
            in.skip(7L * fields);
            int[] shape = new int[type.methods.length + 2];
            for (int m = 0; m < type.methods.length; m++) {
                Method method = new Method();
                in.skip(1);
                method.flags = in.u1() & 0xdf;
                method.offset = in.u2();
                shape[m] = in.u2();
                method.codeBytes = in.u2();
                in.skip(4);
                type.methods[m] = method;
            }
            shape[type.methods.length] = fieldsAt;
            shape[type.methods.length + 1] = fields;
            shapes.add(shape);
            types.add(type);
        }
        int table = in.at;
        for (int i = 0; i < count; i++) {
            Type type = types.get(i);
            int[] shape = shapes.get(i);
            for (int m = 0; m < type.methods.length; m++) {
                type.methods[m].shape = shape(in, table, shape[m], true);
            }
            StringBuilder fields = new StringBuilder();
            for (int f = 0; f < shape[type.methods.length + 1]; f++) {
                in.seek(shape[type.methods.length] + 7 * f + 1);
                int flags = in.u1() & 0x1f;
                in.skip(3);
                int kind = in.u2();
                boolean isSimple = kind >= 0x8000;
                fields.append(flags);
                fields.append(isSimple ? letter(in, kind & 0xf) : shape(in, table, kind, false));
                fields.append(' ');
            }
            type.fields = fields.toString();
            for (Method method : type.methods) {
                readCode(method);
            }
        }
    }

    /**
     * Decodes a type descriptor (6.13): one nibble for each type, and after each reference type
     * four nibbles for its class.
     */
    private static String shape(Bytes in, int table, int offset, boolean isMethod)
            throws CapException {
        in.seek(table).skip(offset);
        int nibbles = in.u1();
        int start = in.at;
        in.skip((nibbles + 1) / 2);
        StringBuilder shape = new StringBuilder(isMethod ? "(" : "");
        int last = 0;
        for (int i = 0; i < nibbles; i++) {
            int pair = in.data[start + i / 2];
            int nibble = i % 2 == 0 ? pair >> 4 & 0xf : pair & 0xf;
            last = shape.length();
            shape.append(letter(in, nibble));
            if (nibble == 6 || nibble == 14) {
                i += 4;
            }
        }
        if (isMethod) {
            shape.insert(Math.max(last, 1), ')');
        }
        return shape.toString();
    }

    private static String letter(Bytes in, int nibble) throws CapException {
        return switch (nibble) {
            case 1 -> "V";
            case 2 -> "Z";
            case 3 -> "B";
            case 4 -> "S";
            case 5 -> "I";
            case 6 -> "L";
            case 10 -> "[Z";
            case 11 -> "[B";
            case 12 -> "[S";
            case 13 -> "[I";
            case 14 -> "[L";
            default -> throw in.wrong("there is no type " + nibble);
        };
    }

    /** Reads types and methods with their names from the Debug component (6.14). */
    private void readDebug(Bytes in) throws CapException {
        types = new ArrayList<>();
        String[] strings = new String[in.u2()];
        for (int i = 0; i < strings.length; i++) {
            strings[i] = in.text(in.u2());
        }
        in.skip(2);
        int count = in.u2();
        for (int i = 0; i < count; i++) {
            Type type = new Type();
            type.name = string(in, strings, in.u2()).replace('.', '/');
            int flags = in.u2();
            type.isInterface = (flags & 0x200) != 0;
            type.isAbstract = (flags & 0x400) != 0;
            type.location = in.u2();
            in.skip(4);
            type.interfaces = in.u1();
            int fields = in.u2();
            int methodCount = in.u2();
            in.skip(2L * type.interfaces + 10L * fields);
            type.methods = new Method[methodCount];
            for (int m = 0; m < methodCount; m++) {
                type.methods[m] = debugMethod(in, strings);
            }
            types.add(type);
        }
    }

    private Method debugMethod(Bytes in, String[] strings) throws CapException {
        Method method = new Method();
        method.name = string(in, strings, in.u2());
        method.descriptor = string(in, strings, in.u2()).replace('.', '/');
        method.shape = Method.shape(method.descriptor);
        int flags = in.u2();
        method.flags = flags & 0x1f | ((flags & 0x400) != 0 ? 64 : 0);
        method.offset = in.u2();
        int headerBytes = in.u1();
        method.codeBytes = in.u2();
        int variables = in.u2();
        int lines = in.u2();
        in.skip(9L * variables + 6L * lines);
        readCode(method);
        if (method.codeBytes > 0 && method.headerBytes != headerBytes) {
            String sizes = headerBytes + " bytes, but " + method.headerBytes;
            throw in.wrong("the header of " + method.name + " has " + sizes + " in the code");
        }
        return method;
    }

    private static String string(Bytes in, String[] strings, int index) throws CapException {
        if (index >= strings.length) {
            throw in.wrong("there is no string " + index);
        }
        return strings[index];
    }

    /**
     * Reads a method's header, which has two bytes or (ACC_EXTENDED) four, its code, and the
     * exception handlers that begin in it (6.9).
     */
    private void readCode(Method method) throws CapException {
        if (method.codeBytes == 0) {
            return;
        }
        if (method.offset < handlerBytes) {
            throw methods.wrong("a method starts at " + method.offset + ", among the handlers");
        }
        method.headerBytes = (methods.seek(method.offset).u1() & EXTENDED_HEADER) == 0 ? 2 : 4;
        int start = method.offset + method.headerBytes;
        methods.seek(method.offset).skip((long) method.headerBytes + method.codeBytes);
        int[] handlers = new int[handlerBytes / 8];
        int count = 0;
        for (int i = 0; i < handlers.length; i++) {
            int handler = methods.seek(1 + 8 * i + 4).u2();
            if (handler >= start && handler < start + method.codeBytes) {
                handlers[count++] = handler - start;
            }
        }
        method.handlers = Type.ascending(handlers, count);
        try {
            method.flow = CapCode.flow(methods.seek(start), method.codeBytes);
            for (int handler : method.handlers) {
                if (!method.flow.isStart(handler)) {
                    throw methods.wrong(
                            "a handler starts at "
                                    + (start + handler)
                                    + ", where no instruction starts");
                }
            }
        } catch (CapException e) {
            method.flow = null;
            method.damage = e.getMessage();
        }
    }

    private void checkOverlaps() throws CapException {
        boolean[] used = new boolean[code.length];
        for (Type type : types) {
            for (Method method : type.methods) {
                int end = method.offset + method.headerBytes + method.codeBytes;
                for (int i = method.offset; method.codeBytes > 0 && i < end; i++) {
                    if (used[i]) {
                        throw methods.wrong("two methods have the byte at " + i);
                    }
                    used[i] = true;
                }
            }
        }
    }
}
