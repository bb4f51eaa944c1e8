package flashpager.recorder;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.HashMap;
import java.util.Map;

/**
 * Class loaders that find the recorder. A loader that isolates parts of a program may find only
 * {@code java.*} outside of them. A class of such a loader could not call the recorder.
 */
final class Loaders {
    private static final ClassLoader PLATFORM = ClassLoader.getPlatformClassLoader();
    private static final String APPLICATION = "jdk.internal.loader.ClassLoaders$AppClassLoader";

    /** Answers so far. The map is not locked while the program's code runs. */
    private final Map<Key, Boolean> known = new HashMap<>();

    private final ReferenceQueue<ClassLoader> gone = new ReferenceQueue<>();

    /** A loader, compared by identity, as a program may define its equals. */
    private static final class Key extends WeakReference<ClassLoader> {
        private final int hash;

        Key(ClassLoader loader, ReferenceQueue<ClassLoader> gone) {
            super(loader, gone);
            hash = System.identityHashCode(loader);
        }

        @Override
        public int hashCode() {
            return hash;
        }

        @Override
        public boolean equals(Object other) {
            if (this == other) {
                return true;
            }
            ClassLoader loader = get();
            return loader != null && other instanceof Key key && key.get() == loader;
        }
    }

    /**
     * Returns whether classes of a loader can call the recorder. The loader is queried once. The
     * query runs the loader's own code, as linking a class does. Classes loaded during the query
     * are not recorded: the JVM does not offer them to a transformer that is running on the same
     * thread.
     */
    boolean findRecorder(ClassLoader loader) {
        if (loader == null
                || loader == PLATFORM
                || loader.getClass().getName().equals(APPLICATION)) {
            return true;
        }
        synchronized (known) {
            for (Object key = gone.poll(); key != null; key = gone.poll()) {
                known.remove(key);
            }
            Boolean finds = known.get(new Key(loader, null));
            if (finds != null) {
                return finds;
            }
        }
        boolean finds = query(loader);
        synchronized (known) {
            known.put(new Key(loader, gone), finds);
        }
        return finds;
    }

    private static boolean query(ClassLoader loader) {
        try {
            return Class.forName(Recorder.class.getName(), false, loader) == Recorder.class;
        } catch (StackOverflowError | OutOfMemoryError e) {
            throw e; // an error that says nothing about the loader
        } catch (Throwable e) {
            return false;
        }
    }
}
