package flashpager.recorder.cap;

import java.util.Arrays;

/**
 * The flow of one method, of class-file or Java Card bytecode alike: where its instructions start,
 * and its marks in order. A mark is an instruction that transfers control (branch, switch, call,
 * return, throw) or may start a class (new, getstatic, putstatic). Offsets are bytes from the
 * method's first bytecode.
 */
final class Flow {
    // Kinds of marks. EQ to LE are the six relations, each between a number and zero or between two
    // numbers, because an if_icmplt of a class file may be an icmp and an iflt on a card.
    static final int EQ = 0;
    static final int LE = 5;
    static final int NULL = 6;
    static final int NONNULL = 7;
    static final int ACMPEQ = 8;
    static final int ACMPNE = 9;
    static final int GOTO = 10;
    static final int JSR = 11;
    static final int RET = 12;
    static final int SWITCH = 13;
    static final int RETURN = 14;
    static final int RETURN_NUMBER = 15;
    static final int RETURN_REFERENCE = 16;
    static final int CALL = 17;
    static final int CALL_STATIC = 18;
    static final int CALL_INTERFACE = 19;
    static final int CALL_DYNAMIC = 20;
    static final int NEW = 21;
    static final int GETSTATIC = 22;
    static final int PUTSTATIC = 23;
    static final int THROW = 24;

    private static final String[] NAMES = {
        "ifeq",
        "ifne",
        "iflt",
        "ifge",
        "ifgt",
        "ifle",
        "ifnull",
        "ifnonnull",
        "if_acmpeq",
        "if_acmpne",
        "goto",
        "jsr",
        "ret",
        "switch",
        "return",
        "return of a number",
        "return of a reference",
        "call of an object's method",
        "call of a static method",
        "call of an interface's method",
        "invokedynamic",
        "new",
        "getstatic",
        "putstatic",
        "athrow",
    };
    private static final int[] NONE = {};

    /** Bytes of code. */
    final int bytes;

    private int[] starts = new int[16];
    private int instructions;

    int marks;
    int[] kind = new int[16];

    /** Offset of the mark's opcode. */
    int[] at = new int[16];

    /** Offset of the instruction after the mark. */
    int[] behind = new int[16];

    /** Targets of the mark; the default of a switch comes first. */
    int[][] targets = new int[16][];

    /**
     * Ascending values with which a switch jumps to targets[1…]. Values that jump to the default are
     * left out.
     */
    int[][] values = new int[16][];

    Flow(int bytes) {
        this.bytes = bytes;
    }

    static String name(int kind) {
        return NAMES[kind];
    }

    void instruction(int start) {
        if (instructions == starts.length) {
            starts = Arrays.copyOf(starts, 2 * instructions);
        }
        starts[instructions++] = start;
    }

    void mark(int kind, int at, int behind) {
        mark(kind, at, behind, NONE, NONE);
    }

    void jump(int kind, int at, int behind, int target) {
        mark(kind, at, behind, new int[] {target}, NONE);
    }

    /**
     * Adds a switch with {@code cases} cases. {@code targets[0]} is the default and {@code
     * targets[i + 1]} belongs to {@code values[i]}; further elements are ignored.
     */
    void branch(int at, int behind, int[] targets, int[] values, int cases) {
        int kept = 0;
        for (int i = 0; i < cases; i++) {
            if (targets[i + 1] != targets[0]) {
                values[kept++] = values[i];
                targets[kept] = targets[i + 1];
            }
        }
        mark(SWITCH, at, behind, Arrays.copyOf(targets, kept + 1), Arrays.copyOf(values, kept));
    }

    private void mark(int kind, int at, int behind, int[] targets, int[] values) {
        if (marks == this.kind.length) {
            int room = 2 * marks;
            this.kind = Arrays.copyOf(this.kind, room);
            this.at = Arrays.copyOf(this.at, room);
            this.behind = Arrays.copyOf(this.behind, room);
            this.targets = Arrays.copyOf(this.targets, room);
            this.values = Arrays.copyOf(this.values, room);
        }
        this.kind[marks] = kind;
        this.at[marks] = at;
        this.behind[marks] = behind;
        this.targets[marks] = targets;
        this.values[marks] = values;
        marks++;
    }

    boolean isStart(int offset) {
        return Arrays.binarySearch(starts, 0, instructions, offset) >= 0;
    }

    /** Returns the instructions that start in [from, to). */
    int instructions(int from, int to) {
        return before(to) - before(from);
    }

    private int before(int offset) {
        int index = Arrays.binarySearch(starts, 0, instructions, offset);
        return index >= 0 ? index : -index - 1;
    }

    /** Returns a message about the first target at which no instruction starts, or null. */
    String wrongTarget() {
        for (int i = 0; i < marks; i++) {
            for (int target : targets[i]) {
                if (!isStart(target)) {
                    return name(kind[i])
                            + " at "
                            + at[i]
                            + " goes to "
                            + target
                            + ", where no instruction starts";
                }
            }
        }
        return null;
    }
}
