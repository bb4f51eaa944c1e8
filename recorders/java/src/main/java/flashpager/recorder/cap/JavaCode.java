package flashpager.recorder.cap;

/** Decodes class-file bytecode (Java Virtual Machine Specification, chapter 6). */
final class JavaCode {
    private JavaCode() {}

    /** The flow of a method whose code is the next {@code bytes} of the reader. */
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
            int length = op == 196 ? wide(in) : length(op);
            if (length == 0) {
                throw in.wrong("opcode " + op + " at " + at + " is none");
            }
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
                int kind = kind(op == 196 ? in.u1() : op);
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

    private static void branch(Bytes in, Flow flow, int op, int at, int base, int end) throws CapException {
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
        switch (op) {
            case 169: return Flow.RET;
            case 172: case 173: case 174: case 175: return Flow.RETURN_NUMBER;
            case 176: return Flow.RETURN_REFERENCE;
            case 177: return Flow.RETURN;
            case 178: return Flow.GETSTATIC;
            case 179: return Flow.PUTSTATIC;
            case 182: case 183: return Flow.CALL;
            case 184: return Flow.CALL_STATIC;
            case 185: return Flow.CALL_INTERFACE;
            case 186: return Flow.CALL_DYNAMIC;
            case 187: return Flow.NEW;
            case 191: return Flow.THROW;
            default: return -1;
        }
    }

    /** Bytes of an instruction with its operands, 0 for no opcode. */
    private static int length(int op) {
        if (op > 201) {
            return 0;
        }
        switch (op) {
            case 16: case 18: case 21: case 22: case 23: case 24: case 25:
            case 54: case 55: case 56: case 57: case 58: case 169: case 188:
                return 2;
            case 17: case 19: case 20: case 132: case 187: case 189: case 192: case 193: case 198: case 199:
                return 3;
            case 197:
                return 4;
            case 185: case 186: case 200: case 201:
                return 5;
            default:
                return op >= 153 && op <= 168 || op >= 178 && op <= 184 ? 3 : 1;
        }
    }
}
