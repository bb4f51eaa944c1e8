package flashpager.outliner;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.IincInsnNode;
import org.objectweb.asm.tree.JumpInsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.LookupSwitchInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TableSwitchInsnNode;
import org.objectweb.asm.tree.TryCatchBlockNode;
import org.objectweb.asm.tree.VarInsnNode;
import org.objectweb.asm.tree.analysis.BasicValue;
import org.objectweb.asm.tree.analysis.Frame;

/**
 * A method's instructions by number, without labels and lines: their successors, and the locals
 * that are live after them.
 */
final class Code {
    /** A range of instructions with the handler of its exceptions. */
    record Guard(int start, int end, int handler) {}

    final MethodNode method;
    final AbstractInsnNode[] instructions;

    /** Offset of each instruction in the method's code, in bytes; last, the length of the code. */
    final int[] offsets;

    /** Executions of each instruction. */
    final long[] times;

    final List<Guard> guards = new ArrayList<>();

    /** Locals and stack before each instruction; null if it cannot be reached. */
    final List<Frame<BasicValue>> frames = new ArrayList<>();

    private final Map<LabelNode, Integer> places = new IdentityHashMap<>();
    private final int[][] successors;
    private final BitSet[] live;

    Code(
            MethodNode method,
            int[] offsets,
            Frame<BasicValue>[] framesOfNodes,
            Profile.Method profile) {
        this.method = method;
        this.offsets = offsets;
        instructions = new AbstractInsnNode[offsets.length - 1];
        int count = 0;
        for (int i = 0; i < method.instructions.size(); i++) {
            AbstractInsnNode node = method.instructions.get(i);
            if (node instanceof LabelNode label) {
                places.put(label, count);
            } else if (node.getOpcode() >= 0) {
                frames.add(framesOfNodes[i]);
                instructions[count++] = node;
            }
        }
        times = new long[count];
        successors = new int[count][];
        for (int i = 0; i < count; i++) {
            times[i] = profile.times(offsets[i]);
            successors[i] = findSuccessors(i);
        }
        for (TryCatchBlockNode block : method.tryCatchBlocks) {
            guards.add(new Guard(place(block.start), place(block.end), place(block.handler)));
        }
        live = liveness(0, count, new BitSet());
    }

    /** Returns the index of the instruction that follows a label. */
    int place(LabelNode label) {
        return places.get(label);
    }

    /** Sets the index of the instruction that follows a new label. */
    void setPlace(LabelNode label, int instruction) {
        places.put(label, instruction);
    }

    /** Returns the instructions that may follow in this method, without handlers. */
    int[] successors(int instruction) {
        return successors[instruction];
    }

    /** Returns the locals that are live at an instruction. */
    BitSet live(int instruction) {
        return live[instruction];
    }

    boolean isReturn(int instruction) {
        int opcode = instructions[instruction].getOpcode();
        return opcode >= Opcodes.IRETURN && opcode <= Opcodes.RETURN;
    }

    /** Returns the local that an instruction writes, or -1. */
    int written(int instruction) {
        AbstractInsnNode node = instructions[instruction];
        if (node instanceof IincInsnNode increment) {
            return increment.var;
        }
        boolean stores = node.getOpcode() >= Opcodes.ISTORE && node.getOpcode() <= Opcodes.ASTORE;
        return stores ? ((VarInsnNode) node).var : -1;
    }

    /** Returns the local that an instruction reads, or -1. */
    private int read(int instruction) {
        AbstractInsnNode node = instructions[instruction];
        if (node instanceof IincInsnNode increment) {
            return increment.var;
        }
        boolean loads = node.getOpcode() >= Opcodes.ILOAD && node.getOpcode() <= Opcodes.ALOAD;
        return loads ? ((VarInsnNode) node).var : -1;
    }

    /**
     * Returns the locals that are live before each instruction from {@code start} to {@code end}.
     * Outside of these instructions {@code after} are live.
     */
    BitSet[] liveness(int start, int end, BitSet after) {
        BitSet[] live = new BitSet[end - start];
        for (int i = start; i < end; i++) {
            live[i - start] = new BitSet();
        }
        boolean changed = true;
        while (changed) {
            changed = false;
            for (int i = end - 1; i >= start; i--) {
                BitSet now = new BitSet();
                for (int next : successors[i]) {
                    now.or(next >= start && next < end ? live[next - start] : after);
                }
                if (written(i) >= 0) {
                    now.clear(written(i));
                }
                if (read(i) >= 0) {
                    now.set(read(i));
                }
                for (Guard guard : guards) {
                    boolean inside = guard.handler >= start && guard.handler < end;
                    if (i >= guard.start && i < guard.end && inside) {
                        now.or(live[guard.handler - start]);
                    }
                }
                if (!now.equals(live[i - start])) {
                    live[i - start] = now;
                    changed = true;
                }
            }
        }
        return live;
    }

    private int[] findSuccessors(int instruction) {
        AbstractInsnNode node = instructions[instruction];
        int opcode = node.getOpcode();
        List<LabelNode> labels = new ArrayList<>();
        boolean fallsThrough = opcode != Opcodes.GOTO && opcode != Opcodes.ATHROW;
        if (opcode >= Opcodes.IRETURN && opcode <= Opcodes.RETURN) {
            fallsThrough = false;
        } else if (node instanceof JumpInsnNode jump) {
            labels.add(jump.label);
        } else if (node instanceof TableSwitchInsnNode table) {
            labels.addAll(table.labels);
            labels.add(table.dflt);
            fallsThrough = false;
        } else if (node instanceof LookupSwitchInsnNode lookup) {
            labels.addAll(lookup.labels);
            labels.add(lookup.dflt);
            fallsThrough = false;
        }
        int[] next = new int[labels.size() + (fallsThrough ? 1 : 0)];
        for (int i = 0; i < labels.size(); i++) {
            next[i] = place(labels.get(i));
        }
        if (fallsThrough) {
            next[labels.size()] = instruction + 1;
        }
        return next;
    }
}
