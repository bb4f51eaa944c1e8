package flashpager.outliner;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodTooLargeException;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.IincInsnNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.JumpInsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.LineNumberNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.VarInsnNode;
import org.objectweb.asm.tree.analysis.Analyzer;
import org.objectweb.asm.tree.analysis.AnalyzerException;
import org.objectweb.asm.tree.analysis.BasicValue;
import org.objectweb.asm.tree.analysis.SimpleVerifier;

/** Moves the cold parts of a class's methods into new methods. */
final class Outliner {
    /**
     * A part that was moved: its method, the new method, the bytes saved in the old one, and the
     * number of times that the part was executed.
     */
    record Moved(String method, String into, int saved, long times) {}

    /** Part of the names of new methods. */
    private static final String MARK = "$cold$";

    private final Profile profile;
    private final ClassLoader classes;
    private final double coldShare;
    private final int atLeast;

    private final List<Moved> moved = new ArrayList<>();
    private final List<String> notes = new ArrayList<>();

    /**
     * Makes an outliner. {@code profile} has the executions; {@code classes} finds the classes to
     * which the program refers. A part is cold if it was executed at most {@code coldShare} times
     * as often as the most executed part of its method. It is moved if that saves at least {@code
     * atLeast} bytes.
     */
    Outliner(Profile profile, ClassLoader classes, double coldShare, int atLeast) {
        this.profile = profile;
        this.classes = classes;
        this.coldShare = coldShare;
        this.atLeast = atLeast;
    }

    List<Moved> moved() {
        return moved;
    }

    /** Returns notes on the methods that were left unchanged, with the reasons. */
    List<String> notes() {
        return notes;
    }

    /** Returns a class with its cold parts moved, or the same if it has none. */
    byte[] rewrite(byte[] file) {
        Offsets reader = new Offsets(file);
        ClassNode node = reader.read();
        int before = moved.size();
        for (MethodNode method : List.copyOf(node.methods)) {
            Profile.Method known = profile.of(node.name, method.name, method.desc);
            // Only constructors may write final fields, so their code stays in them.
            if (known == null || method.name.startsWith("<")) {
                continue;
            }
            try {
                outline(node, method, known, reader.offsets(method, known));
            } catch (AnalyzerException | TypeNotPresentException error) {
                String text = Profile.text(node.name, method.name, method.desc);
                notes.add(text + ": left unchanged: " + firstLine(error));
            }
        }
        if (moved.size() == before) {
            return file;
        }
        try {
            ClassWriter writer = new Writer();
            node.accept(writer);
            return writer.toByteArray();
        } catch (IllegalArgumentException | TypeNotPresentException | MethodTooLargeException error) {
            moved.subList(before, moved.size()).clear();
            notes.add(node.name.replace('/', '.') + ": left unchanged: " + firstLine(error));
            return file;
        }
    }

    private static String firstLine(Exception error) {
        return String.valueOf(error.getMessage()).lines().findFirst().orElse("");
    }

    private void outline(
            ClassNode owner, MethodNode method, Profile.Method known, int[] offsets)
            throws AnalyzerException {
        Code code =
                new Code(method, offsets, verifier(owner).analyze(owner.name, method), known);
        List<Region> regions = choose(code);
        List<String> names = new ArrayList<>();
        // All regions are copied before the first one is replaced.
        for (Region region : regions) {
            String name = nameFor(owner, method.name);
            names.add(name);
            owner.methods.add(part(code, region, name));
        }
        List<LabelNode> exits = regions.stream().map(region -> exit(code, region)).toList();
        for (int i = 0; i < regions.size(); i++) {
            Region region = regions.get(i);
            String name = names.get(i);
            replace(owner, code, region, name, exits.get(i));
            String into = Profile.text(owner.name, name, region.descriptor());
            String from = Profile.text(owner.name, method.name, method.desc);
            moved.add(new Moved(from, into, region.saved(), region.times()));
        }
    }

    private Analyzer<BasicValue> verifier(ClassNode owner) {
        List<Type> interfaces = owner.interfaces.stream().map(Type::getObjectType).toList();
        Type above = owner.superName == null ? null : Type.getObjectType(owner.superName);
        boolean isInterface = (owner.access & Opcodes.ACC_INTERFACE) != 0;
        Type self = Type.getObjectType(owner.name);
        SimpleVerifier verifier =
                new SimpleVerifier(Opcodes.ASM9, self, above, interfaces, isInterface) {};
        verifier.setClassLoader(classes);
        return new Analyzer<>(verifier);
    }

    /** Chooses cold regions that do not overlap; those that save most come first. */
    private List<Region> choose(Code code) {
        TreeSet<Integer> leaders = new TreeSet<>(List.of(0));
        for (int i = 0; i < code.instructions.length; i++) {
            int[] next = code.successors(i);
            if (next.length != 1 || next[0] != i + 1) {
                leaders.add(i + 1);
                for (int to : next) {
                    leaders.add(to);
                }
            }
        }
        for (Code.Guard guard : code.guards) {
            leaders.addAll(List.of(guard.start(), guard.end(), guard.handler()));
        }
        List<Integer> bounds = List.copyOf(leaders);
        List<Region> candidates = new ArrayList<>();
        for (int from = 0; from < bounds.size(); from++) {
            for (int to = from + 1; to < bounds.size(); to++) {
                int start = bounds.get(from);
                int end = bounds.get(to);
                if (!isCold(code, start, end)) {
                    break;
                }
                Region.of(code, start, end)
                        .filter(region -> region.saved() >= atLeast)
                        .ifPresent(candidates::add);
            }
        }
        candidates.sort(Comparator.comparingInt(Region::saved).reversed());
        List<Region> chosen = new ArrayList<>();
        for (Region region : candidates) {
            if (chosen.stream().noneMatch(region::overlaps)) {
                chosen.add(region);
            }
        }
        return chosen;
    }

    /** Returns true if a part was executed rarely, compared with the method's most executed part. */
    private boolean isCold(Code code, int start, int end) {
        long hottest = 0;
        long most = 0;
        for (int i = 0; i < code.instructions.length; i++) {
            hottest = Math.max(hottest, code.times[i]);
            if (i >= start && i < end) {
                most = Math.max(most, code.times[i]);
            }
        }
        return most <= coldShare * hottest;
    }

    private static String nameFor(ClassNode owner, String method) {
        for (int number = 1; ; number++) {
            String name = method + MARK + number;
            if (owner.methods.stream().noneMatch(other -> other.name.equals(name))) {
                return name;
            }
        }
    }

    /** Returns the method that a region becomes. */
    private static MethodNode part(Code code, Region region, String name) {
        int access = Opcodes.ACC_PRIVATE | Opcodes.ACC_STATIC | Opcodes.ACC_SYNTHETIC;
        MethodNode part = new MethodNode(access, name, region.descriptor(), null, null);
        Locals renamed = new Locals();
        for (int i = 0; i < region.parameters().size(); i++) {
            renamed.of(region.parameters().get(i), region.types().get(i).getSize());
        }
        Map<LabelNode, LabelNode> labels = new IdentityHashMap<>();
        LabelNode leave = new LabelNode();
        for (AbstractInsnNode node : code.method.instructions) {
            if (node instanceof LabelNode label) {
                int place = code.place(label);
                boolean inside = place >= region.start() && place < region.end();
                labels.put(label, inside ? new LabelNode() : leave);
            }
        }
        boolean inside = false;
        int place = 0;
        for (AbstractInsnNode node : code.method.instructions) {
            if (node instanceof LabelNode label) {
                inside = place >= region.start() && place < region.end();
                if (inside) {
                    part.instructions.add(labels.get(label));
                }
            } else if (node instanceof LineNumberNode line) {
                if (inside) {
                    part.instructions.add(new LineNumberNode(line.line, labels.get(line.start)));
                }
            } else if (node.getOpcode() >= 0) {
                if (place >= region.start() && place < region.end()) {
                    AbstractInsnNode copy = node.clone(labels);
                    renamed.rename(copy);
                    part.instructions.add(copy);
                }
                place++;
            }
        }
        if (region.exit() >= 0) {
            part.instructions.add(leave);
            if (region.result() >= 0) {
                int opcode = region.resultType().getOpcode(Opcodes.ILOAD);
                int local = renamed.of(region.result(), region.resultType().getSize());
                part.instructions.add(new VarInsnNode(opcode, local));
            }
            part.instructions.add(new InsnNode(region.resultType().getOpcode(Opcodes.IRETURN)));
        }
        return part;
    }

    /** Returns a label at a region's exit. It is unused if the exit follows the region directly. */
    private static LabelNode exit(Code code, Region region) {
        LabelNode label = new LabelNode();
        if (region.exit() >= 0) {
            code.method.instructions.insertBefore(code.instructions[region.exit()], label);
            code.setPlace(label, region.exit());
        }
        return label;
    }

    /** Replaces a region by a call. */
    private static void replace(
            ClassNode owner, Code code, Region region, String name, LabelNode exit) {
        InsnList call = new InsnList();
        for (int i = 0; i < region.parameters().size(); i++) {
            int opcode = region.types().get(i).getOpcode(Opcodes.ILOAD);
            call.add(new VarInsnNode(opcode, region.parameters().get(i)));
        }
        boolean isInterface = (owner.access & Opcodes.ACC_INTERFACE) != 0;
        String descriptor = region.descriptor();
        call.add(
                new MethodInsnNode(
                        Opcodes.INVOKESTATIC, owner.name, name, descriptor, isInterface));
        Type type = region.resultType();
        if (region.exit() < 0) {
            call.add(new InsnNode(type.getOpcode(Opcodes.IRETURN)));
        } else {
            if (region.result() >= 0) {
                call.add(new VarInsnNode(type.getOpcode(Opcodes.ISTORE), region.result()));
            }
            if (region.exit() != region.end()) {
                call.add(new JumpInsnNode(Opcodes.GOTO, exit));
            }
        }
        InsnList instructions = code.method.instructions;
        for (AbstractInsnNode node : instructions) {
            if (node instanceof LineNumberNode line && isInside(code, region, line.start)) {
                instructions.remove(node);
            }
        }
        instructions.insertBefore(code.instructions[region.start()], call);
        for (int i = region.start(); i < region.end(); i++) {
            instructions.remove(code.instructions[i]);
        }
        // Removes the debug information of variables that exist only in the region.
        if (code.method.localVariables != null) {
            code.method.localVariables.removeIf(
                    variable -> isInside(code, region, variable.start)
                            && code.place(variable.end) <= region.end());
        }
    }

    /** Returns true if a label is inside a region and not at its beginning. */
    private static boolean isInside(Code code, Region region, LabelNode label) {
        int place = code.place(label);
        return place > region.start() && place < region.end();
    }

    /** Locals of a new method, in the order of their first use. */
    private static final class Locals {
        /** A slot and the size of its value; a later value in the same slot may be longer. */
        private record Slot(int number, int size) {}

        private final Map<Slot, Integer> places = new HashMap<>();
        private int free;

        int of(int local, int size) {
            Slot slot = new Slot(local, size);
            Integer place = places.putIfAbsent(slot, free);
            if (place != null) {
                return place;
            }
            free += size;
            return free - size;
        }

        void rename(AbstractInsnNode node) {
            if (node instanceof VarInsnNode variable) {
                variable.var = of(variable.var, sizeOf(variable.getOpcode()));
            } else if (node instanceof IincInsnNode increment) {
                increment.var = of(increment.var, 1);
            }
        }

        private static int sizeOf(int opcode) {
            return switch (opcode) {
                case Opcodes.LLOAD, Opcodes.DLOAD, Opcodes.LSTORE, Opcodes.DSTORE -> 2;
                default -> 1;
            };
        }
    }

    /** Finds the offset of each instruction in the class file. */
    private static final class Offsets extends ClassReader {
        private final Map<MethodNode, List<Integer>> offsets = new IdentityHashMap<>();
        private List<Integer> current = new ArrayList<>();

        Offsets(byte[] file) {
            super(file);
        }

        ClassNode read() {
            ClassNode node =
                    new ClassNode(Opcodes.ASM9) {
                        @Override
                        public MethodVisitor visitMethod(
                                int access,
                                String name,
                                String descriptor,
                                String signature,
                                String[] exceptions) {
                            current = new ArrayList<>();
                            MethodVisitor visitor =
                                    super.visitMethod(
                                            access, name, descriptor, signature, exceptions);
                            offsets.put((MethodNode) visitor, current);
                            return visitor;
                        }
                    };
            accept(node, SKIP_FRAMES);
            return node;
        }

        @Override
        protected void readBytecodeInstructionOffset(int offset) {
            current.add(offset);
        }

        /** Returns the offsets of a method's instructions; its length must match the profile. */
        int[] offsets(MethodNode method, Profile.Method executed) {
            List<Integer> known = offsets.get(method);
            int bytes = executed.bytes();
            int count = 0;
            AbstractInsnNode last = null;
            for (AbstractInsnNode node : method.instructions) {
                if (node.getOpcode() >= 0) {
                    last = node;
                    count++;
                }
            }
            Set<Integer> ends = new HashSet<>(known);
            ends.add(bytes);
            boolean fits = last != null && count == known.size();
            if (fits && last instanceof InsnNode) {
                // The last instruction is a return or a throw, as in nearly all methods.
                fits = known.get(count - 1) == bytes - 1;
            } else if (fits) {
                fits = known.get(count - 1) < bytes;
            }
            for (Profile.Part part : executed.parts()) {
                fits &= ends.contains(part.start()) && ends.contains(part.end());
            }
            String text = Profile.text(getClassName(), method.name, method.desc);
            if (!fits) {
                throw new OutlineException(
                        text + ": has different code in the recorded program");
            }
            int[] all = new int[count + 1];
            for (int i = 0; i < count; i++) {
                all[i] = known.get(i);
            }
            all[count] = bytes;
            return all;
        }
    }

    /** Computes new frames, for which it can load the program's classes. */
    private final class Writer extends ClassWriter {
        Writer() {
            super(COMPUTE_FRAMES);
        }

        @Override
        protected ClassLoader getClassLoader() {
            return classes;
        }
    }
}
