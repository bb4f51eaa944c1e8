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
 * Consecutive instructions that can become a method. Jumps from outside lead only to the first one.
 * All jumps out of the region lead to one instruction, or it is left only by returns. The operand
 * stack is empty at both ends, and at most one local that the region writes is read afterwards.
 *
 * @param start index of the first instruction
 * @param end index after the last instruction
 * @param exit index of the instruction that follows the region; -1 if the region ends the method
 * @param result the local that the new method returns, or -1
 * @param resultType return type of the new method
 * @param parameters the locals that are passed to the new method
 * @param types types of {@code parameters}
 * @param saved bytes by which the old method becomes shorter
 * @param times executions of the most executed instruction
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

    /** Largest number of parameters of a new method. */
    private static final int MAX_PARAMETERS = 16;

    private static final int CALL_BYTES = 3;
    private static final int GOTO_BYTES = 3;

    /**
     * Returns the region from {@code start} to {@code end}; empty if it cannot become a method.
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
        if ((returns && exit >= 0) || isEntered(code, start, end)) {
            return Optional.empty();
        }
        Frame<BasicValue> entry = code.frames.get(start);
        if (entry == null || entry.getStackSize() > 0 || !keepsHandlers(code, start, end, written)) {
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
        BitSet live = code.liveness(start, end, after)[0];
        int call = CALL_BYTES + (exit >= 0 && exit != end ? GOTO_BYTES : 0);
        call += exit < 0 ? 1 : result < 0 ? 0 : bytesOf(result);
        for (int local = live.nextSetBit(0); local >= 0; local = live.nextSetBit(local + 1)) {
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

    /** Returns the descriptor of the new method. */
    String descriptor() {
        return Type.getMethodDescriptor(resultType, types.toArray(new Type[0]));
    }

    boolean overlaps(Region other) {
        return start < other.end && other.start < end;
    }

    /** Returns true if an instruction outside leads into the region after its first instruction. */
    private static boolean isEntered(Code code, int start, int end) {
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

    /**
     * Returns true if exception handlers behave as before: each covers the whole region or none of
     * it, none lies in it, and none reads a local that the region writes.
     */
    private static boolean keepsHandlers(Code code, int start, int end, BitSet written) {
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

    /** Returns the type of a local's value; null if the value cannot be passed as a parameter. */
    private static Type typeOf(BasicValue value) {
        Type type = value == null ? null : value.getType();
        boolean unknown = type == null || type.getDescriptor().equals("Lnull;");
        return unknown ? null : type;
    }

    /** Returns the bytes of an instruction that loads or stores a local. */
    private static int bytesOf(int local) {
        return local < 4 ? 1 : 2;
    }
}
