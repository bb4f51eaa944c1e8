package flashpager.recorder;

import java.lang.instrument.ClassFileTransformer;
import java.lang.ref.WeakReference;
import java.security.ProtectionDomain;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.objectweb.asm.ClassReader;

/**
 * Inserts calls of the recorder into classes when they are loaded. If the stack is so full that the
 * JVM cannot even call this transformer, the JVM prints that on standard error, and the class is
 * not reported as left out.
 */
final class Transformer implements ClassFileTransformer {
    private final Selection selection;
    private final CodeMap map;
    private final Loaders loaders = new Loaders();

    /** Recorded classes by name. They are kept because other agents may transform a class again. */
    private final Map<String, Recorded> recorded = new HashMap<>();

    private final Set<String> leftOut = new HashSet<>();

    /**
     * The first classes for which stack or memory did not suffice. They are reported later.
     */
    private final Missed[] missed = new Missed[64];

    private volatile int missedCount;
    private volatile int reportedCount;
    private volatile boolean isReporting;

    /** Not a lambda, which would start the machinery of java.lang.invoke. */
    private final CodeMap.LeftOutReporter leftOutReporter =
            new CodeMap.LeftOutReporter() {
                @Override
                public void report(String method, String reason) {
                    leaveOut(method, reason);
                }
            };

    /** A class file with inserted calls, except in its methods that are {@code bare}. */
    private record Recorded(
            WeakReference<ClassLoader> loader, int hash, int first, boolean[] bare) {
        static Recorded of(ClassLoader loader, int hash, int first, List<MethodCode> methods) {
            boolean[] bare = new boolean[methods.size()];
            for (int i = 0; i < bare.length; i++) {
                bare[i] = methods.get(i).blocks() == 0;
            }
            return new Recorded(new WeakReference<>(loader), hash, first, bare);
        }

        /** Removes the blocks of those methods that were recorded without blocks before. */
        void strip(List<MethodCode> methods) {
            for (int i = 0; i < bare.length; i++) {
                if (bare[i]) {
                    methods.set(i, methods.get(i).withoutBlocks());
                }
            }
        }

        boolean is(ClassLoader other, int otherHash) {
            return loader.get() == other && hash == otherHash;
        }
    }

    /** A class that was not recorded for lack of stack or memory. */
    private static final class Missed {
        private Module module;
        private ClassLoader loader;
        private String internalName;
    }

    Transformer(Selection selection, CodeMap map) {
        this.selection = selection;
        this.map = map;
        for (int i = 0; i < missed.length; i++) {
            missed[i] = new Missed();
        }
    }

    @Override
    public byte[] transform(
            Module module,
            ClassLoader loader,
            String internalName,
            Class<?> redefined,
            ProtectionDomain domain,
            byte[] bytes) {
        if (internalName == null) {
            return null; // a class without a name, made by the JDK itself
        }
        try {
            Recorder.pause();
            try {
                reportMissed();
                String name = internalName.replace('/', '.');
                // Classes that the recorder itself uses are not reported here, which would take a
                // lock: the recorder may be waiting for this class, on any thread.
                return selection.includes(module, loader, name)
                                && Selection.dependencyPattern(loader, name) == null
                        ? record(loader, name, redefined != null, bytes)
                        : null;
            } finally {
                Recorder.resume();
            }
        } catch (StackOverflowError | OutOfMemoryError e) {
            // This block calls no method, as there may be no stack for a call.
            synchronized (missed) {
                if (missedCount < missed.length) {
                    Missed now = missed[missedCount];
                    now.module = module;
                    now.loader = loader;
                    now.internalName = internalName;
                    missedCount++;
                }
            }
            return null;
        }
    }

    /** Reports missed classes, on one thread at a time. */
    private void reportMissed() {
        if (reportedCount == missedCount) {
            return;
        }
        synchronized (missed) {
            if (isReporting) {
                return;
            }
            isReporting = true;
        }
        try {
            while (reportedCount < missedCount) {
                Missed next = missed[reportedCount];
                String name = next.internalName.replace('/', '.');
                if (selection.includes(next.module, next.loader, name)
                        && Selection.dependencyPattern(next.loader, name) == null) {
                    leaveOut(name, "stack or memory ran out as it was loaded");
                }
                next.module = null;
                next.loader = null;
                reportedCount++;
            }
        } finally {
            isReporting = false;
        }
    }

    /**
     * Returns true if a loaded class is to be recorded. Reports it as left out if the recorder
     * itself needs it.
     */
    boolean selects(Class<?> type) {
        String name = type.getName();
        if (!selection.includes(type.getModule(), type.getClassLoader(), name)) {
            return false;
        }
        String pattern = Selection.dependencyPattern(type.getClassLoader(), name);
        if (pattern != null) {
            leaveOut(pattern, "the recorder itself uses it");
        }
        return pattern == null;
    }

    private byte[] record(ClassLoader loader, String name, boolean again, byte[] bytes) {
        try {
            ClassReader file = new ClassReader(bytes);
            List<MethodCode> methods = MethodCode.of(file);
            if (methods.isEmpty()) {
                return null;
            }
            if (!loaders.findRecorder(loader)) {
                leaveOut(name, "its class loader does not see the recorder");
                return null;
            }
            int hash = Arrays.hashCode(bytes);
            Recorded before = again ? recorded(name) : null;
            if (before != null && before.is(loader, hash)) {
                before.strip(methods);
                return Instrumenter.instrument(file, methods, before.first);
            }
            CodeMap.Place[] places = map.place(bytes, methods, leftOutReporter);
            while (true) {
                // A class is described after it was instrumented without an error, and its blocks
                // are numbered in that order. If another thread has taken these numbers meanwhile,
                // the class is instrumented again.
                int first = Recorder.blocks();
                byte[] instrumented = Instrumenter.instrument(file, methods, first);
                if (Recorder.describe(places, methods, first)) {
                    Recorded now = Recorded.of(loader, hash, first, methods);
                    synchronized (recorded) {
                        recorded.put(name, now);
                    }
                    return instrumented;
                }
            }
        } catch (StackOverflowError | OutOfMemoryError e) {
            throw e;
        } catch (Throwable e) { // the program must run on after any error
            leaveOut(name, reason(e));
            return null;
        }
    }

    private Recorded recorded(String name) {
        synchronized (recorded) {
            return recorded.get(name);
        }
    }

    /** Reports once that something is not recorded. */
    void leaveOut(String name, String reason) {
        synchronized (leftOut) {
            if (leftOut.contains(name)) {
                return;
            }
        }
        // The report comes before the note. If either fails, the next call tries both again.
        Recorder.leaveOut(name, reason);
        synchronized (leftOut) {
            leftOut.add(name);
        }
    }

    private static String reason(Throwable e) {
        String kind = e.getClass().getSimpleName();
        if (kind.equals("MethodTooLargeException")) {
            return "a method has no room for the recorder's calls";
        }
        return e.getMessage() == null ? kind : e.getMessage();
    }
}
