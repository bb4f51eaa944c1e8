package flashpager.recorder;

import java.util.Set;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.Opcodes;

/** The instructions of a method in the class file. Offsets count from the first one. */
final class Bytecode {
    private static final int LDC_W = 19;
    private static final int WIDE = 196;
    private static final int GOTO_W = 200;
    private static final int JSR_W = 201;
    private static final int CONSTANT_DYNAMIC = 17;

    private final ClassReader file;
    private final int code;
    private final int bytes;
    private final String owner;
    private final Set<String> fields;
    private final char[] buffer;

    /** True for each offset at which an instruction begins. */
    private final boolean[] begins;

    private final int instructions;

    /**
     * Decodes a method's code.
     *
     * @param file the class file
     * @param code offset of the code in it
     * @param bytes length of the code
     * @param owner the class's name, with slashes
     * @param fields fields that the class itself declares: for each its name, a space and its
     *     descriptor
     * @param buffer space for the longest name of the file
     * @throws IllegalArgumentException if a JVM would not accept the code
     */
    Bytecode(
            ClassReader file,
            int code,
            int bytes,
            String owner,
            Set<String> fields,
            char[] buffer) {
        this.file = file;
        this.code = code;
        this.bytes = bytes;
        this.owner = owner;
        this.fields = fields;
        this.buffer = buffer;
        begins = new boolean[bytes];
        int count = 0;
        int at = 0;
        while (at < bytes) {
            begins[at] = true;
            count++;
            at += length(at);
        }
        if (at != bytes || bytes == 0) {
            throw new IllegalArgumentException("code that ends within an instruction");
        }
        instructions = count;
    }

    /** Returns the bytes of the code. */
    int bytes() {
        return bytes;
    }

    /** Returns the number of instructions. */
    int instructions() {
        return instructions;
    }

    /** Returns the bytes of the instruction at an offset. */
    int length(int at) {
        int opcode = opcode(at);
        if (opcode <= Opcodes.DCONST_1) {
            return 1;
        } else if (opcode <= Opcodes.ALOAD) {
            boolean two = opcode == Opcodes.SIPUSH || opcode == LDC_W || opcode == LDC_W + 1;
            return two ? 3 : 2;
        } else if (opcode < Opcodes.ISTORE) {
            return 1;
        } else if (opcode <= Opcodes.ASTORE) {
            return 2;
        } else if (opcode < Opcodes.IINC) {
            return 1;
        } else if (opcode == Opcodes.IINC) {
            return 3;
        } else if (opcode < Opcodes.IFEQ) {
            return 1;
        } else if (opcode <= Opcodes.JSR) {
            return 3;
        } else if (opcode == Opcodes.RET) {
            return 2;
        } else if (opcode == Opcodes.TABLESWITCH) {
            int table = table(at);
            long cases = (long) wide(table + 8) - wide(table + 4) + 1;
            return checked(table - at + 12 + 4 * cases);
        } else if (opcode == Opcodes.LOOKUPSWITCH) {
            int table = table(at);
            return checked(table - at + 8 + 8L * wide(table + 4));
        } else if (opcode <= Opcodes.RETURN) {
            return 1;
        } else if (opcode <= Opcodes.INVOKESTATIC) {
            return 3;
        } else if (opcode <= Opcodes.INVOKEDYNAMIC) {
            return 5;
        } else if (opcode == Opcodes.NEWARRAY) {
            return 2;
        } else if (opcode == Opcodes.NEW || opcode == Opcodes.ANEWARRAY) {
            return 3;
        } else if (opcode == Opcodes.CHECKCAST || opcode == Opcodes.INSTANCEOF) {
            return 3;
        } else if (opcode < WIDE) {
            return 1; // arraylength, athrow, monitorenter, monitorexit
        } else if (opcode == WIDE) {
            return opcode(at + 1) == Opcodes.IINC ? 6 : 4;
        } else if (opcode == Opcodes.MULTIANEWARRAY) {
            return 4;
        } else if (opcode <= Opcodes.IFNONNULL) {
            return 3;
        } else if (opcode <= JSR_W) {
            return 5;
        }
        throw new IllegalArgumentException("opcode " + opcode);
    }

    private int checked(long length) {
        if (length <= 0 || length > bytes) {
            throw new IllegalArgumentException("a switch without end");
        }
        return (int) length;
    }

    /** Returns the flag of a block that ends with this instruction, or 0. */
    int flag(int at) {
        int opcode = opcode(at);
        return opcode >= Opcodes.IRETURN && opcode <= Opcodes.RETURN ? MethodCode.RETURNS : 0;
    }

    /** Returns where blocks begin; {@code handlers} are the offsets of the exception handlers. */
    boolean[] leaders(int[] handlers) {
        boolean[] leaders = new boolean[bytes];
        leaders[0] = true;
        for (int handler : handlers) {
            mark(leaders, handler);
        }
        int length;
        boolean mayThrow = false;
        for (int at = 0; at < bytes; at += length) {
            length = length(at);
            // A block that the JVM leaves by an exception has not returned.
            if (mayThrow && isReturn(opcode(at))) {
                leaders[at] = true;
            }
            mayThrow = !leaders[at] && mayThrow || mayThrow(opcode(at));
            if (markTargets(leaders, at) || mayRunOther(at)) {
                if (at + length < bytes) {
                    leaders[at + length] = true;
                }
            }
        }
        return leaders;
    }

    /** Returns whether a jump executes the first instruction again. */
    boolean jumpsToStart(int[] handlers) {
        boolean[] targets = new boolean[bytes];
        for (int handler : handlers) {
            mark(targets, handler);
        }
        for (int at = 0; at < bytes; at += length(at)) {
            markTargets(targets, at);
        }
        return targets[0];
    }

    /** Marks where an instruction may jump to. Returns whether a block begins after it. */
    private boolean markTargets(boolean[] leaders, int at) {
        int opcode = opcode(at);
        if (opcode >= Opcodes.IFEQ && opcode <= Opcodes.JSR
                || opcode == Opcodes.IFNULL
                || opcode == Opcodes.IFNONNULL) {
            mark(leaders, at + file.readShort(code + at + 1));
        } else if (opcode == GOTO_W || opcode == JSR_W) {
            mark(leaders, at + wide(at + 1));
        } else if (opcode == Opcodes.TABLESWITCH || opcode == Opcodes.LOOKUPSWITCH) {
            boolean lookup = opcode == Opcodes.LOOKUPSWITCH;
            int table = table(at);
            int end = at + length(at);
            mark(leaders, at + wide(table));
            for (int entry = table + 12; entry < end; entry += lookup ? 8 : 4) {
                mark(leaders, at + wide(entry));
            }
        } else {
            return opcode >= Opcodes.IRETURN && opcode <= Opcodes.RETURN
                    || opcode == Opcodes.RET
                    || opcode == Opcodes.ATHROW
                    || opcode == WIDE && opcode(at + 1) == Opcodes.RET;
        }
        return true;
    }

    private void mark(boolean[] leaders, int target) {
        if (target < 0 || target >= bytes || !begins[target]) {
            throw new IllegalArgumentException("a jump into nowhere");
        }
        leaders[target] = true;
    }

    /**
     * Returns whether other code may run within an instruction: a method, or the initialisation of
     * another class or a constant.
     */
    private boolean mayRunOther(int at) {
        int opcode = opcode(at);
        if (isCall(opcode)) {
            return true;
        } else if (opcode == Opcodes.LDC) {
            return isDynamic(file.readByte(code + at + 1));
        } else if (opcode == LDC_W || opcode == LDC_W + 1) {
            return isDynamic(file.readUnsignedShort(code + at + 1));
        } else if (opcode == Opcodes.NEW) {
            int type = file.getItem(file.readUnsignedShort(code + at + 1));
            return !isOwner(type);
        } else if (opcode == Opcodes.GETSTATIC || opcode == Opcodes.PUTSTATIC) {
            int field = file.getItem(file.readUnsignedShort(code + at + 1));
            return !isOwner(file.getItem(file.readUnsignedShort(field))) || isInherited(field);
        }
        return false;
    }

    /** Returns whether a field belongs to another class than the one that names it. */
    private boolean isInherited(int field) {
        int type = file.getItem(file.readUnsignedShort(field + 2));
        String name = file.readUTF8(type, buffer);
        return !fields.contains(name + ' ' + file.readUTF8(type + 2, buffer));
    }

    private boolean isDynamic(int constant) {
        return file.readByte(file.getItem(constant) - 1) == CONSTANT_DYNAMIC;
    }

    private boolean isOwner(int type) {
        return owner.equals(file.readUTF8(type, buffer));
    }

    private static boolean isReturn(int opcode) {
        return opcode >= Opcodes.IRETURN && opcode <= Opcodes.RETURN;
    }

    /** Returns whether the JVM itself may throw an exception, apart from errors. */
    private static boolean mayThrow(int opcode) {
        return opcode >= Opcodes.IALOAD && opcode <= Opcodes.SALOAD
                || opcode >= Opcodes.IASTORE && opcode <= Opcodes.SASTORE
                || opcode == Opcodes.IDIV
                || opcode == Opcodes.LDIV
                || opcode == Opcodes.IREM
                || opcode == Opcodes.LREM
                || opcode == Opcodes.GETFIELD
                || opcode == Opcodes.PUTFIELD
                || opcode == Opcodes.NEWARRAY
                || opcode == Opcodes.ANEWARRAY
                || opcode == Opcodes.MULTIANEWARRAY
                || opcode == Opcodes.ARRAYLENGTH
                || opcode == Opcodes.CHECKCAST
                || opcode == Opcodes.MONITORENTER
                || opcode == Opcodes.MONITOREXIT;
    }

    private static boolean isCall(int opcode) {
        return opcode >= Opcodes.INVOKEVIRTUAL && opcode <= Opcodes.INVOKEDYNAMIC;
    }

    private int opcode(int at) {
        if (at >= bytes) {
            throw new IllegalArgumentException("code that ends within an instruction");
        }
        return file.readByte(code + at);
    }

    /** Returns where the operands of a switch begin: aligned to words. */
    private static int table(int at) {
        return (at & ~3) + 4;
    }

    private int wide(int at) {
        return file.readInt(code + at);
    }
}
