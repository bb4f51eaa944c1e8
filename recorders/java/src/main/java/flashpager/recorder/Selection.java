package flashpager.recorder;

import java.util.List;

/** Selects the classes to record. Class names have dots, and {@code $} before a nested class. */
final class Selection {
    /**
     * Classes that the recorder executes between two instructions of the program, which would
     * record itself without end; and those that suspend and resume virtual threads, as a thread in
     * between must not wait for a lock.
     */
    private static final String[] OWN = {
        "java.lang.*VirtualThread",
        "java.lang.Object",
        "java.lang.Thread",
        "java.lang.ThreadBuilders",
        "java.lang.instrument.*",
        "java.lang.invoke.*",
        "java.lang.ref.*",
        "java.nio.*",
        "java.util.Objects",
        "java.util.concurrent.DelayScheduler",
        "java.util.concurrent.ForkJoin*",
        "java.util.concurrent.ScheduledThreadPoolExecutor",
        "java.util.concurrent.ThreadLocalRandom",
        "java.util.concurrent.locks.*",
        "jdk.internal.*",
        "sun.*",
    };

    private static final String HERE = "flashpager.recorder.";

    /**
     * Classes that the JDK makes for reflection, with loaders of their own. Not even the JVM
     * verifies them.
     */
    private static final String REFLECTION = "jdk.internal.reflect.";

    private static final ClassLoader PLATFORM = ClassLoader.getPlatformClassLoader();

    private final List<String> include;

    Selection(List<String> include) {
        this.include = include;
    }

    /** Whether a class is to be recorded, if it can be. */
    boolean wants(Module module, ClassLoader loader, String name) {
        if (name.startsWith(HERE)) {
            return false;
        }
        if (include.isEmpty()) {
            return loader != null
                    && loader != PLATFORM
                    && !isTool(module)
                    && !name.startsWith(REFLECTION);
        }
        for (int i = 0; i < include.size(); i++) {
            if (matches(include.get(i), name)) {
                return true;
            }
        }
        return false;
    }

    /** Whether a module is the JDK's but loaded like a program: javac, or one made for proxies. */
    private static boolean isTool(Module module) {
        return module.isNamed()
                && module.getName().startsWith("jdk.")
                && (module.getLayer() == ModuleLayer.boot()
                        || module.getName().startsWith("jdk.proxy"));
    }

    /** Returns the pattern of the recorder's own needs to which a class belongs, or null. */
    static String own(ClassLoader loader, String name) {
        if (loader != null && !name.startsWith(REFLECTION)) {
            return null;
        }
        for (String pattern : OWN) {
            if (matches(pattern, name)) {
                return pattern;
            }
        }
        return null;
    }

    /**
     * Whether a pattern matches a class or one in which it is nested; {@code *} matches anything.
     */
    static boolean matches(String pattern, String name) {
        for (int end = name.length(); end > 0; end = name.lastIndexOf('$', end - 1)) {
            if (matches(pattern, name, end)) {
                return true;
            }
        }
        return false;
    }

    private static boolean matches(String pattern, String name, int end) {
        int p = 0;
        int n = 0;
        int star = -1; // the last one passed, and the end of what it matches
        int starEnd = 0;
        while (n < end) {
            if (p < pattern.length() && pattern.charAt(p) == '*') {
                star = p++;
                starEnd = n;
            } else if (p < pattern.length() && pattern.charAt(p) == name.charAt(n)) {
                p++;
                n++;
            } else if (star >= 0) {
                p = star + 1;
                n = ++starEnd;
            } else {
                return false;
            }
        }
        while (p < pattern.length() && pattern.charAt(p) == '*') {
            p++;
        }
        return p == pattern.length();
    }
}
