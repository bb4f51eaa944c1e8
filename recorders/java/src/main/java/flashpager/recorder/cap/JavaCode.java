package flashpager.recorder.cap;

/** Decodes class-file bytecode (Java Virtual Machine Specification, chapter 6). */
final class JavaCode {
    /** Bytes of each instruction with its operands, sixteen opcodes a line; 0 if they vary. */
    private static final String LENGTHS =
            "1111111111111111"
                    + "2323322222111111"
                    + "1111111111111111"
                    + "1111112222211111"
                    + "1111111111111111"
                    + "1111111111111111"
                    + "1111111111111111"
                    + "1111111111111111"
                    + "1111311111111111"
                    + "1111111113333333"
                    + "3333333332001111"
                    + "1133333335532311"
                    + "3311043355";

    private static final int WIDE = 196;

    private JavaCode() {}

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
            if (op == 170 || op == 171) {
                branch(in, flow, op, at, base, end);
                continue;
            }
            if (op >= LENGTHS.length()) {
                throw in.wrong("unknown opcode " + op + " at " + at);
            }
            int length = op == WIDE ? wide(in) : LENGTHS.charAt(op) - '0';
            int operand = in.at;
            in.seek(base + at).skip(length);
            int next = in.at;
            int behind = next - base;
            in.seek(operand);
            if (op >= 153 && op <= 158) {
                flow.jump(Flow.EQ + op - 153, at, behind, at + in.s2());
            } else if (op >= 159 && op <= 164) {
                flow.jump(Flow.EQ + op - 159, at, behind, at + in.s2());
            } else if (op == 165 || op == 166) {
                flow.jump(Flow.ACMPEQ + op - 165, at, behind, at + in.s2());
            } else if (op == 167 || op == 168) {
                flow.jump(Flow.GOTO + op - 167, at, behind, at + in.s2());
            } else if (op == 198 || op == 199) {
                flow.jump(Flow.NULL + op - 198, at, behind, at + in.s2());
            } else if (op == 200 || op == 201) {
                flow.jump(Flow.GOTO + op - 200, at, behind, at + in.s4());
            } else {
                int kind = kind(op == WIDE ? in.u1() : op);
                if (kind >= 0) {
                    flow.mark(kind, at, behind);
                }
            }
            in.seek(next);
        }
        if (in.at != end) {
            throw in.wrong("the last instruction of a method is cut off");
        }
        String wrong = flow.wrongTarget();
        if (wrong != null) {
            throw in.wrong(wrong);
        }
        return flow;
    }

    private static void branch(Bytes in, Flow flow, int op, int at, int base, int end)
            throws CapException {
        in.skip(3 - at % 4);
        int usual = at + in.s4();
        int low = op == 170 ? in.s4() : 0;
        long cases = op == 170 ? (long) in.s4() - low + 1 : in.s4();
        if (cases < 0 || cases > (end - in.at) / (op == 170 ? 4 : 8)) {
            throw in.wrong("the switch at " + at + " has " + cases + " cases");
        }
        int count = (int) cases;
        int[] targets = new int[count + 1];
        int[] values = new int[count];
        targets[0] = usual;
        for (int i = 0; i < count; i++) {
            values[i] = op == 170 ? low + i : in.s4();
            targets[i + 1] = at + in.s4();
        }
        flow.branch(at, in.at - base, targets, values, count);
    }

    private static int wide(Bytes in) throws CapException {
        int op = in.u1();
        in.at--;
        return op == 132 ? 6 : 4;
    }

    private static int kind(int op) {
        return switch (op) {
            case 169 -> Flow.RET;
            case 172, 173, 174, 175 -> Flow.RETURN_NUMBER;
            case 176 -> Flow.RETURN_REFERENCE;
            case 177 -> Flow.RETURN;
            case 178 -> Flow.GETSTATIC;
            case 179 -> Flow.PUTSTATIC;
            case 182, 183 -> Flow.CALL;
            case 184 -> Flow.CALL_STATIC;
            case 185 -> Flow.CALL_INTERFACE;
            case 186 -> Flow.CALL_DYNAMIC;
            case 187 -> Flow.NEW;
            case 191 -> Flow.THROW;
            default -> -1;
        };
    }
}
