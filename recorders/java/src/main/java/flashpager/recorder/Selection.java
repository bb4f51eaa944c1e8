package flashpager.recorder;

import java.util.List;

/**
 * The classes that are recorded. Their names are written with dots, and with {@code $} before a
 * nested class.
 */
final class Selection {
    /**
     * Patterns of classes that are never recorded. The recorder itself calls most of them, so that
     * recording them would never end. The others unmount and mount virtual threads: meanwhile a
     * thread is neither virtual nor its carrier, and must not wait for a lock.
     */
    private static final String[] RECORDER_DEPENDENCIES = {
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

    private static final String RECORDER_PACKAGE = "flashpager.recorder.";

    /** Prefix of classes that the JDK makes for reflection. The JVM does not even verify them. */
    private static final String REFLECTION = "jdk.internal.reflect.";

    private static final ClassLoader PLATFORM = ClassLoader.getPlatformClassLoader();

    private final List<String> include;

    Selection(List<String> include) {
        this.include = include;
    }

    /** Returns true if the user's selection includes a class, whether it can be recorded or not. */
    boolean includes(Module module, ClassLoader loader, String name) {
        if (name.startsWith(RECORDER_PACKAGE)) {
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

    /** Returns true if a module is a tool of the JDK, such as javac, or made by it for proxies. */
    private static boolean isTool(Module module) {
        return module.isNamed()
                && module.getName().startsWith("jdk.")
                && (module.getLayer() == ModuleLayer.boot()
                        || module.getName().startsWith("jdk.proxy"));
    }

    /** Returns the pattern of {@link #RECORDER_DEPENDENCIES} that matches a class, or null. */
    static String dependencyPattern(ClassLoader loader, String name) {
        if (loader != null && !name.startsWith(REFLECTION)) {
            return null;
        }
        for (String pattern : RECORDER_DEPENDENCIES) {
            if (matches(pattern, name)) {
                return pattern;
            }
        }
        return null;
    }

    /**
     * Returns true if a pattern matches a class or one that encloses it. {@code *} stands for any
     * text.
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
        int star = -1; // index of the last star in the pattern; -1 before the first one
        int starEnd = 0; // end of the text in the name that this star stands for
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
