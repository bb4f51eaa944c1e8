package flashpager.outliner;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.analysis.BasicValue;
import org.objectweb.asm.tree.analysis.Frame;

/**
 * Instructions that can become a method: entered at the first alone, left to one place or only by
 * returns, with an empty stack at both ends and at most one local to hand back.
 *
 * @param start the first instruction
 * @param end the one behind the last
 * @param exit where it goes on; -1 if it ends the method
 * @param result the local that it hands back, or -1
 * @param resultType what that holds, or what the method returns; void if nothing
 * @param parameters locals that it is given
 * @param types what they hold
 * @param saved bytes that the method gets shorter
 * @param times how often its most executed instruction was
 */
record Region(
        int start,
        int end,
        int exit,
        int result,
        Type resultType,
        List<Integer> parameters,
        List<Type> types,
        int saved,
        long times) {

    /** Most parameters of a method. */
    private static final int MAX_PARAMETERS = 16;

    private static final int CALL_BYTES = 3;
    private static final int GOTO_BYTES = 3;

    /**
     * Returns the instructions from {@code start} to {@code end} as a method, if they can be one.
     */
    static Optional<Region> of(Code code, int start, int end) {
        BitSet written = new BitSet();
        int exit = -1;
        boolean returns = false;
        long times = 0;
        for (int i = start; i < end; i++) {
            int opcode = code.instructions[i].getOpcode();
            if (opcode == Opcodes.MONITORENTER
                    || opcode == Opcodes.MONITOREXIT
                    || opcode == Opcodes.JSR
                    || opcode == Opcodes.RET) {
                return Optional.empty();
            }
            times = Math.max(times, code.times[i]);
            returns |= code.isReturn(i);
            if (code.written(i) >= 0) {
                written.set(code.written(i));
            }
            for (int next : code.successors(i)) {
                if (next < start || next >= end) {
                    if (exit >= 0 && exit != next) {
                        return Optional.empty();
                    }
                    exit = next;
                }
            }
        }
        if ((returns && exit >= 0) || entered(code, start, end)) {
            return Optional.empty();
        }
        Frame<BasicValue> entry = code.frames.get(start);
        if (entry == null || entry.getStackSize() > 0 || !guarded(code, start, end, written)) {
            return Optional.empty();
        }
        Type resultType = Type.getReturnType(code.method.desc);
        BitSet after = new BitSet();
        if (exit >= 0) {
            Frame<BasicValue> frame = code.frames.get(exit);
            if (frame == null || frame.getStackSize() > 0) {
                return Optional.empty();
            }
            after.or(written);
            after.and(code.live(exit));
            if (after.cardinality() > 1) {
                return Optional.empty();
            }
            resultType = Type.VOID_TYPE;
            if (!after.isEmpty()) {
                resultType = typeOf(frame.getLocal(after.nextSetBit(0)));
            }
        }
        int result = after.nextSetBit(0);
        List<Integer> parameters = new ArrayList<>();
        List<Type> types = new ArrayList<>();
        BitSet wanted = code.liveness(start, end, after)[0];
        int call = CALL_BYTES + (exit >= 0 && exit != end ? GOTO_BYTES : 0);
        call += exit < 0 ? 1 : result < 0 ? 0 : bytesOf(result);
        for (int local = wanted.nextSetBit(0); local >= 0; local = wanted.nextSetBit(local + 1)) {
            parameters.add(local);
            types.add(typeOf(entry.getLocal(local)));
            call += bytesOf(local);
        }
        if (types.contains(null) || resultType == null || types.size() > MAX_PARAMETERS) {
            return Optional.empty();
        }
        int saved = code.offsets[end] - code.offsets[start] - call;
        return Optional.of(
                new Region(
                        start, end, exit, result, resultType, parameters, types, saved, times));
    }

    /** Returns the descriptor of the method that it becomes. */
    String descriptor() {
        return Type.getMethodDescriptor(resultType, types.toArray(new Type[0]));
    }

    boolean overlaps(Region other) {
        return start < other.end && other.start < end;
    }

    /** Whether something outside leads into the middle of it. */
    private static boolean entered(Code code, int start, int end) {
        for (int i = 0; i < code.instructions.length; i++) {
            if (i >= start && i < end) {
                continue;
            }
            for (int next : code.successors(i)) {
                if (next > start && next < end) {
                    return true;
                }
            }
        }
        return false;
    }

    /** Whether handlers see the same as before. */
    private static boolean guarded(Code code, int start, int end, BitSet written) {
        for (Code.Guard guard : code.guards) {
            if (guard.handler() >= start && guard.handler() < end) {
                return false;
            }
            if (guard.start() >= end || guard.end() <= start) {
                continue;
            }
            if (guard.start() > start || guard.end() < end) {
                return false;
            }
            if (written.intersects(code.live(guard.handler()))) {
                return false;
            }
        }
        return true;
    }

    /** Returns the type of a local's value, or null if it is no value that can be passed. */
    private static Type typeOf(BasicValue value) {
        Type type = value == null ? null : value.getType();
        boolean unknown = type == null || type.getDescriptor().equals("Lnull;");
        return unknown ? null : type;
    }

    /** Returns the bytes of a load or a store. */
    private static int bytesOf(int local) {
        return local < 4 ? 1 : 2;
    }
}
