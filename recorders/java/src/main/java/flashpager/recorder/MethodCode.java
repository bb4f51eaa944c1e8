package flashpager.recorder;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.objectweb.asm.ClassReader;

/**
 * A method's bytecode, cut into blocks. A block is executed from its first instruction to its last
 * one, unless the JVM itself throws an exception. Offsets are relative to the method's code in the
 * class file.
 */
final class MethodCode {
    /** Flag of the block with which the method is entered. */
    static final int ENTERS = 1;

    /** Flag of a block whose last instruction returns from the method. */
    static final int RETURNS = 2;

    private final String owner;
    private final String name;
    private final String descriptor;
    private final byte[] label;
    private final int bytes;

    /** By instruction (not byte): index of the block that begins there, or -1. */
    private final int[] blockAt;

    private int blocks;
    private final boolean entryApart;
    private final int[] starts;
    private final int[] ends;
    private final int[] instructions;
    private final int[] flags;

    private MethodCode(
            String owner, String name, String descriptor, Bytecode bytecode, int[] handlers) {
        this.owner = owner;
        this.name = name;
        this.descriptor = descriptor;
        label = Recorder.bytes(describe(owner, name, descriptor));
        bytes = bytecode.bytes();
        boolean[] leaders = bytecode.leaders(handlers);
        int count = 0;
        for (int at = 0; at < bytes; at++) {
            count += leaders[at] ? 1 : 0;
        }
        entryApart = bytecode.jumpsToStart(handlers);
        if (entryApart) {
            count++;
        }
        starts = new int[count];
        ends = new int[count];
        instructions = new int[count];
        flags = new int[count];
        blockAt = new int[bytecode.instructions()];
        Arrays.fill(blockAt, -1);
        if (entryApart) {
            blocks = 1; // the entry block, which has no bytes
        }
        int instruction = 0;
        int last = 0;
        for (int at = 0; at < bytes; at += bytecode.length(at)) {
            if (leaders[at]) {
                if (at > 0) {
                    finish(at, bytecode.flag(last));
                }
                starts[blocks] = at;
                blockAt[instruction] = blocks++;
            }
            instructions[blocks - 1]++;
            last = at;
            instruction++;
        }
        finish(bytes, bytecode.flag(last));
        flags[0] |= ENTERS;
    }

    private MethodCode(MethodCode other) {
        owner = other.owner;
        name = other.name;
        descriptor = other.descriptor;
        label = other.label;
        bytes = other.bytes;
        entryApart = false;
        starts = new int[0];
        ends = starts;
        instructions = starts;
        flags = starts;
        blockAt = new int[other.blockAt.length];
        Arrays.fill(blockAt, -1);
    }

    /** Returns the same method without blocks: its execution is not reported. */
    MethodCode withoutBlocks() {
        return new MethodCode(this);
    }

    /** Cuts all methods of a class that have code, in the class file's order. */
    static List<MethodCode> of(ClassReader file) {
        List<MethodCode> methods = new ArrayList<>();
        char[] buffer = new char[file.getMaxStringLength()];
        String owner = file.getClassName();
        int at = file.header + 8 + 2 * file.readUnsignedShort(file.header + 6);
        int fields = file.readUnsignedShort(at);
        at += 2;
        Set<String> declared = new HashSet<>();
        for (; fields > 0; fields--) {
            declared.add(file.readUTF8(at + 2, buffer) + ' ' + file.readUTF8(at + 4, buffer));
            at = afterAttributes(file, at + 6);
        }
        int count = file.readUnsignedShort(at);
        at += 2;
        for (; count > 0; count--) {
            String name = file.readUTF8(at + 2, buffer);
            String descriptor = file.readUTF8(at + 4, buffer);
            int code = codeAttribute(file, at + 6, buffer);
            if (code >= 0) {
                int bytes = file.readInt(code + 10);
                Bytecode bytecode = new Bytecode(file, code + 14, bytes, owner, declared, buffer);
                int table = code + 14 + bytes;
                int[] handlers = new int[file.readUnsignedShort(table)];
                for (int i = 0; i < handlers.length; i++) {
                    handlers[i] = file.readUnsignedShort(table + 2 + 8 * i + 4);
                }
                methods.add(new MethodCode(owner, name, descriptor, bytecode, handlers));
            }
            at = afterAttributes(file, at + 6);
        }
        return methods;
    }

    private static int afterAttributes(ClassReader file, int attributes) {
        int at = attributes + 2;
        for (int count = file.readUnsignedShort(attributes); count > 0; count--) {
            at += 6 + file.readInt(at + 2);
        }
        return at;
    }

    private static int codeAttribute(ClassReader file, int attributes, char[] buffer) {
        int at = attributes + 2;
        for (int count = file.readUnsignedShort(attributes); count > 0; count--) {
            if (file.readUTF8(at, buffer).equals("Code")) {
                return at;
            }
            at += 6 + file.readInt(at + 2);
        }
        return -1;
    }

    private void finish(int end, int flag) {
        ends[blocks - 1] = end;
        flags[blocks - 1] |= flag;
    }

    /** Returns the class's name as in the class file, with slashes. */
    String owner() {
        return owner;
    }

    /** Returns the method's name as in the class file. */
    String name() {
        return name;
    }

    /** Returns the method's descriptor as in the class file. */
    String descriptor() {
        return descriptor;
    }

    /** Returns the bytes of the method's code. */
    int bytes() {
        return bytes;
    }

    /** Returns the number of blocks, including the entry block. */
    int blocks() {
        return blocks;
    }

    /** Returns the number of instructions. */
    int instructions() {
        return blockAt.length;
    }

    /**
     * Returns true if block 0 has no bytes and only reports that the method is entered. This is so
     * if the code begins with a loop, whose first block is executed repeatedly.
     */
    boolean entryApart() {
        return entryApart;
    }

    /** Returns the block that begins at the n-th instruction, or -1. */
    int blockAt(int instruction) {
        return blockAt[instruction];
    }

    /** Returns the offset at which a block begins. */
    int start(int block) {
        return starts[block];
    }

    /** Returns the offset at which a block ends. */
    int end(int block) {
        return ends[block];
    }

    /** Returns the instructions of a block. */
    int instructions(int block) {
        return instructions[block];
    }

    /** Returns the flags of a block: {@link #ENTERS} and {@link #RETURNS}. */
    int flags(int block) {
        return flags[block];
    }

    /** Returns the method's usual notation, {@code com.acme.Foo.bar(int,byte[])}, in UTF-8. */
    byte[] label() {
        return label;
    }

    /** Returns the method's usual notation. */
    String text() {
        return describe(owner, name, descriptor);
    }

    private static String describe(String owner, String name, String descriptor) {
        StringBuilder text = new StringBuilder(owner.replace('/', '.'));
        text.append('.').append(name).append('(');
        int at = 1;
        while (descriptor.charAt(at) != ')') {
            if (at > 1) {
                text.append(',');
            }
            int dimensions = 0;
            while (descriptor.charAt(at) == '[') {
                dimensions++;
                at++;
            }
            char type = descriptor.charAt(at++);
            if (type == 'L') {
                int end = descriptor.indexOf(';', at);
                text.append(descriptor.substring(at, end).replace('/', '.'));
                at = end + 1;
            } else {
                text.append(
                        switch (type) {
                            case 'B' -> "byte";
                            case 'C' -> "char";
                            case 'D' -> "double";
                            case 'F' -> "float";
                            case 'I' -> "int";
                            case 'J' -> "long";
                            case 'S' -> "short";
                            default -> "boolean";
                        });
            }
            for (; dimensions > 0; dimensions--) {
                text.append("[]");
            }
        }
        return text.append(')').toString();
    }
}
