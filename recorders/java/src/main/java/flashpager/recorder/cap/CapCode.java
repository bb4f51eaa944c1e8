package flashpager.recorder.cap;

/** Decodes Java Card bytecode (Java Card Virtual Machine Specification, chapter 7). */
final class CapCode {
    /** Bytes of each instruction with its operands, sixteen opcodes a line; 0 for the switches. */
    private static final String LENGTHS =
            "1111111111111111"
                    + "2323522211111111"
                    + "1111111122211111"
                    + "1111111111111112"
                    + "2111111111111111"
                    + "1111111113311111"
                    + "2222222222222222"
                    + "2320000111133333"
                    + "3332222222233353"
                    + "2311444433333333"
                    + "3333333333333222"
                    + "233332222";

    private CapCode() {}

    /** Returns the flow of a method whose code is the next {@code bytes} of the reader. */
    static Flow flow(Bytes in, int bytes) throws CapException {
        int base = in.at;
        in.skip(bytes);
        Flow flow = new Flow(bytes);
        int end = base + bytes;
        in.seek(base);
        while (in.at < end) {
            int at = in.at - base;
            int op = in.u1();
            flow.instruction(at);
            if (op >= 0x73 && op <= 0x76) {
                branch(in, flow, op, at, base, end);
                continue;
            }
            if (op >= LENGTHS.length()) {
                throw in.wrong(
                        "unknown opcode 0x" + Integer.toHexString(op) + " at " + (base + at));
            }
            int operand = in.at;
            in.skip(LENGTHS.charAt(op) - '1');
            int next = in.at;
            int behind = next - base;
            in.seek(operand);
            if (op >= 0x60 && op <= 0x70) {
                flow.jump(jump(op - 0x60), at, behind, at + in.s1());
            } else if (op >= 0x98 && op <= 0xa8) {
                flow.jump(jump(op - 0x98), at, behind, at + in.s2());
            } else if (op == 0x71) {
                flow.jump(Flow.JSR, at, behind, at + in.s2());
            } else {
                int kind = kind(op);
                if (kind >= 0) {
                    flow.mark(kind, at, behind);
                }
            }
            in.seek(next);
        }
        if (in.at != end) {
            throw in.wrong("the last instruction before " + end + " is cut off");
        }
        String wrong = flow.wrongTarget();
        if (wrong != null) {
            throw in.wrong("in the method whose code starts at " + base + ", " + wrong);
        }
        return flow;
    }

    /** Returns the kind of the nth jump: ifeq …, if_acmpeq …, if_scmpeq …, goto. */
    private static int jump(int nth) {
        if (nth < 10) {
            return nth;
        }
        return nth == 16 ? Flow.GOTO : nth - 10;
    }

    private static int kind(int op) {
        switch (op) {
            case 0x72:
                return Flow.RET;
            case 0x77:
                return Flow.RETURN_REFERENCE;
            case 0x78:
            case 0x79:
                return Flow.RETURN_NUMBER;
            case 0x7a:
                return Flow.RETURN;
            case 0x7b:
            case 0x7c:
            case 0x7d:
            case 0x7e:
                return Flow.GETSTATIC;
            case 0x7f:
            case 0x80:
            case 0x81:
            case 0x82:
                return Flow.PUTSTATIC;
            case 0x8b:
            case 0x8c:
                return Flow.CALL;
            case 0x8d:
                return Flow.CALL_STATIC;
            case 0x8e:
                return Flow.CALL_INTERFACE;
            case 0x8f:
                return Flow.NEW;
            case 0x93:
                return Flow.THROW;
            default:
                return -1;
        }
    }

    /**
     * Decodes stableswitch, itableswitch, slookupswitch or ilookupswitch. They have no padding, and
     * offsets of two bytes.
     */
    private static void branch(Bytes in, Flow flow, int op, int at, int base, int end)
            throws CapException {
        boolean isTable = op <= 0x74;
        boolean isInt = op == 0x74 || op == 0x76;
        int usual = at + in.s2();
        int low = isTable ? number(in, isInt) : 0;
        long cases = isTable ? (long) number(in, isInt) - low + 1 : in.u2();
        int size = isTable ? 2 : isInt ? 6 : 4;
        if (cases < 0 || cases > (end - in.at) / size) {
            throw in.wrong("the switch at " + (base + at) + " has " + cases + " cases");
        }
        int count = (int) cases;
        int[] targets = new int[count + 1];
        int[] values = new int[count];
        targets[0] = usual;
        for (int i = 0; i < count; i++) {
            values[i] = isTable ? low + i : number(in, isInt);
            targets[i + 1] = at + in.s2();
        }
        flow.branch(at, in.at - base, targets, values, count);
    }

    private static int number(Bytes in, boolean isInt) throws CapException {
        return isInt ? in.s4() : in.s2();
    }
}
