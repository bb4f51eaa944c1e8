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
 * Adds calls of the recorder to classes as they are loaded. If the stack is so short that the JVM
 * cannot even call this, the JVM prints that on standard error, and the class is not reported.
 */
final class Transformer implements ClassFileTransformer {
    private final Selection selection;
    private final CodeMap map;
    private final Loaders loaders = new Loaders();

    /** Recorded classes by name: other agents may offer a class again. */
    private final Map<String, Recorded> recorded = new HashMap<>();

    private final Set<String> leftOut = new HashSet<>();

    /**
     * The first classes for which stack or memory did not suffice. They are reported when it does.
     */
    private final Missed[] missed = new Missed[64];

    private volatile int missedCount;
    private volatile int toldCount;
    private volatile boolean isTelling;

    /** Not a lambda, which would start the machinery of java.lang.invoke. */
    private final CodeMap.Left left =
            new CodeMap.Left() {
                @Override
                public void out(String method, String why) {
                    leaveOut(method, why);
                }
            };

    /** A class file with calls, except in its methods that are {@code bare}. */
    private record Recorded(
            WeakReference<ClassLoader> loader, int hash, int first, boolean[] bare) {
        static Recorded of(ClassLoader loader, int hash, int first, List<MethodCode> methods) {
            boolean[] bare = new boolean[methods.size()];
            for (int i = 0; i < bare.length; i++) {
                bare[i] = methods.get(i).blocks() == 0;
            }
            return new Recorded(new WeakReference<>(loader), hash, first, bare);
        }

        /** Removes the blocks of the same methods again. */
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

    /** A class that was missed, and why. */
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
            return null; // a class without a name: made by the JDK itself
        }
        try {
            Recorder.pause();
            try {
                tellMissed();
                String name = internalName.replace('/', '.');
                // Does not report the recorder's own needs, and takes no lock for them: the
                // recorder itself may be waiting for this class, on any thread.
                return selection.wants(module, loader, name) && Selection.own(loader, name) == null
                        ? record(loader, name, redefined != null, bytes)
                        : null;
            } finally {
                Recorder.resume();
            }
        } catch (StackOverflowError | OutOfMemoryError e) {
            // Without a call, as there may be no stack for one.
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

    /** Reports classes that were missed before, one thread at a time. */
    private void tellMissed() {
        if (toldCount == missedCount) {
            return;
        }
        synchronized (missed) {
            if (isTelling) {
                return;
            }
            isTelling = true;
        }
        try {
            while (toldCount < missedCount) {
                Missed next = missed[toldCount];
                String name = next.internalName.replace('/', '.');
                if (selection.wants(next.module, next.loader, name)
                        && Selection.own(next.loader, name) == null) {
                    leaveOut(name, "stack or memory ran out as it was loaded");
                }
                next.module = null;
                next.loader = null;
                toldCount++;
            }
        } finally {
            isTelling = false;
        }
    }

    /** Whether a loaded class is to be recorded. Reports it if the recorder itself needs it. */
    boolean selects(Class<?> type) {
        String name = type.getName();
        if (!selection.wants(type.getModule(), type.getClassLoader(), name)) {
            return false;
        }
        String own = Selection.own(type.getClassLoader(), name);
        if (own != null) {
            leaveOut(own, "the recorder itself uses it");
        }
        return own == null;
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
            CodeMap.Place[] places = map.place(bytes, methods, left);
            while (true) {
                // Only classes that are known to work are described, and their blocks are numbered
                // in that order. If another thread's class took these numbers, this one is made
                // anew.
                int first = Recorder.blocks();
                byte[] made = Instrumenter.instrument(file, methods, first);
                if (Recorder.describe(places, methods, first)) {
                    Recorded now = Recorded.of(loader, hash, first, methods);
                    synchronized (recorded) {
                        recorded.put(name, now);
                    }
                    return made;
                }
            }
        } catch (StackOverflowError | OutOfMemoryError e) {
            throw e;
        } catch (Throwable e) { // the program runs on, whatever this is
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
    void leaveOut(String what, String why) {
        synchronized (leftOut) {
            if (leftOut.contains(what)) {
                return;
            }
        }
        // Reported first, then noted: either may fail, and is tried again then.
        Recorder.leaveOut(what, why);
        synchronized (leftOut) {
            leftOut.add(what);
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
