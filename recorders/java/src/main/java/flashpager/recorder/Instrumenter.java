package flashpager.recorder;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Handle;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * Inserts a call of {@link Recorder#block} at the beginning of every block of a class. The rest of
 * the code does not change. The call leaves locals and stack unchanged, so all frames stay valid.
 */
final class Instrumenter extends ClassVisitor {
    private static final int API = Opcodes.ASM9;

    private final List<MethodCode> methods;
    private int method;
    private int first;

    private Instrumenter(ClassVisitor next, List<MethodCode> methods, int first) {
        super(API, next);
        this.methods = methods;
        this.first = first;
    }

    /**
     * Returns the class file with the inserted calls.
     *
     * @param methods the methods of the class that have code
     * @param first the number of the class's first block
     */
    static byte[] instrument(ClassReader file, List<MethodCode> methods, int first) {
        ClassWriter writer =
                new ClassWriter(file, 0) {
                    @Override
                    protected String getCommonSuperClass(String one, String other) {
                        // The inherited method would load classes of the program. It is not called,
                        // since no frames are computed.
                        throw new IllegalStateException("frames need a common superclass");
                    }
                };
        Instrumenter instrumenter = new Instrumenter(writer, methods, first);
        file.accept(instrumenter, 0);
        if (instrumenter.method != methods.size()) {
            throw new IllegalStateException("methods that were not visited");
        }
        return writer.toByteArray();
    }

    @Override
    public MethodVisitor visitMethod(
            int access, String name, String descriptor, String signature, String[] exceptions) {
        MethodVisitor next = super.visitMethod(access, name, descriptor, signature, exceptions);
        return new Calls(next);
    }

    private final class Calls extends MethodVisitor {
        private MethodCode code;
        private int firstOfMethod;
        private int instruction;

        /** Labels at the next instruction. */
        private Label[] here = new Label[4];

        private int labels;

        /**
         * Frames name an uninitialised object by the label of the instruction that made it. If a
         * call is inserted at that label, the frames need a new label after the call.
         */
        private Map<Label, Label> creations;

        Calls(MethodVisitor next) {
            super(API, next);
        }

        @Override
        public void visitCode() {
            super.visitCode();
            code = methods.get(method++);
            firstOfMethod = first;
            first += code.blocks();
            if (code.entryApart()) {
                call(firstOfMethod);
            }
        }

        @Override
        public void visitLabel(Label label) {
            super.visitLabel(label);
            if (labels == here.length) {
                Label[] more = new Label[2 * labels];
                System.arraycopy(here, 0, more, 0, labels);
                here = more;
            }
            here[labels++] = label;
        }

        /** Runs before every instruction, after its labels and its frame. */
        private void instruction() {
            labels = 0;
            int block = code.blockAt(instruction++);
            if (block >= 0) {
                call(firstOfMethod + block);
            }
        }

        private void call(int number) {
            if (number <= 5) {
                super.visitInsn(Opcodes.ICONST_0 + number);
            } else if (number <= Byte.MAX_VALUE) {
                super.visitIntInsn(Opcodes.BIPUSH, number);
            } else if (number <= Short.MAX_VALUE) {
                super.visitIntInsn(Opcodes.SIPUSH, number);
            } else {
                super.visitLdcInsn(number);
            }
            super.visitMethodInsn(
                    Opcodes.INVOKESTATIC, "flashpager/recorder/Recorder", "block", "(I)V", false);
        }

        private Label creation(Label label) {
            if (creations == null) {
                creations = new HashMap<>();
            }
            Label own = creations.get(label);
            if (own == null) {
                own = new Label();
                creations.put(label, own);
            }
            return own;
        }

        private Object[] moved(Object[] types, int count) {
            Object[] moved = types;
            for (int i = 0; i < count; i++) {
                if (types[i] instanceof Label label) {
                    if (moved == types) {
                        moved = types.clone();
                    }
                    moved[i] = creation(label);
                }
            }
            return moved;
        }

        @Override
        public void visitFrame(
                int type, int localCount, Object[] local, int stackCount, Object[] stack) {
            boolean dropsLocals = type == Opcodes.F_CHOP || local == null;
            super.visitFrame(
                    type,
                    localCount,
                    dropsLocals ? local : moved(local, localCount),
                    stackCount,
                    stack == null ? null : moved(stack, stackCount));
        }

        @Override
        public void visitTypeInsn(int opcode, String type) {
            int count = labels;
            instruction();
            if (opcode == Opcodes.NEW) {
                for (int i = 0; i < count; i++) {
                    super.visitLabel(creation(here[i]));
                }
            }
            super.visitTypeInsn(opcode, type);
        }

        @Override
        public void visitInsn(int opcode) {
            instruction();
            super.visitInsn(opcode);
        }

        @Override
        public void visitIntInsn(int opcode, int operand) {
            instruction();
            super.visitIntInsn(opcode, operand);
        }

        @Override
        public void visitVarInsn(int opcode, int variable) {
            instruction();
            super.visitVarInsn(opcode, variable);
        }

        @Override
        public void visitFieldInsn(int opcode, String owner, String name, String descriptor) {
            instruction();
            super.visitFieldInsn(opcode, owner, name, descriptor);
        }

        @Override
        public void visitMethodInsn(
                int opcode, String owner, String name, String descriptor, boolean isInterface) {
            instruction();
            super.visitMethodInsn(opcode, owner, name, descriptor, isInterface);
        }

        @Override
        public void visitInvokeDynamicInsn(
                String name, String descriptor, Handle bootstrap, Object... arguments) {
            instruction();
            super.visitInvokeDynamicInsn(name, descriptor, bootstrap, arguments);
        }

        @Override
        public void visitJumpInsn(int opcode, Label label) {
            instruction();
            super.visitJumpInsn(opcode, label);
        }

        @Override
        public void visitLdcInsn(Object value) {
            instruction();
            super.visitLdcInsn(value);
        }

        @Override
        public void visitIincInsn(int variable, int increment) {
            instruction();
            super.visitIincInsn(variable, increment);
        }

        @Override
        public void visitTableSwitchInsn(int min, int max, Label other, Label... cases) {
            instruction();
            super.visitTableSwitchInsn(min, max, other, cases);
        }

        @Override
        public void visitLookupSwitchInsn(Label other, int[] keys, Label[] cases) {
            instruction();
            super.visitLookupSwitchInsn(other, keys, cases);
        }

        @Override
        public void visitMultiANewArrayInsn(String descriptor, int dimensions) {
            instruction();
            super.visitMultiANewArrayInsn(descriptor, dimensions);
        }

        @Override
        public void visitMaxs(int maxStack, int maxLocals) {
            if (instruction != code.instructions()) {
                throw new IllegalStateException("instructions that were not visited");
            }
            super.visitMaxs(maxStack + 1, maxLocals);
        }
    }
}
