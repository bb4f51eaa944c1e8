import java.io.IOException;
import java.io.InputStream;

/** Unusual programs: with class loaders, at the end of the stack, with very many threads. */
public class Corners {
    /** Defines one class by itself. If it isolates, it delegates only classes of the JDK. */
    static class Loader extends ClassLoader {
        private final String own;
        private final byte[] file;
        private final boolean isolating;

        Loader(Class<?> type, boolean isolating) throws IOException {
            own = type.getName();
            this.isolating = isolating;
            try (InputStream in = Corners.class.getResourceAsStream(own + ".class")) {
                file = in.readAllBytes();
            }
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.equals(own)) {
                return defineClass(name, file, 0, file.length);
            }
            if (isolating && !name.startsWith("java.")) {
                throw new ClassNotFoundException(name);
            }
            return super.loadClass(name, resolve);
        }
    }

    public static class Alone implements Runnable {
        public Alone() {}

        @Override
        public void run() {
            System.out.println("alone");
        }
    }

    static class Bottom {
        static void step() {}
    }

    static int depth;

    static void down(int n) {
        depth = n;
        down(n + 1);
    }

    static void load(int n, Loader loader) throws ClassNotFoundException {
        if (n > 0) {
            load(n - 1, loader);
        } else {
            loader.loadClass(Bottom.class.getName(), false);
        }
    }

    static void atTheEnd() {
        try {
            down(0);
        } catch (StackOverflowError e) {
            // The recursion has reached the end of the stack.
        }
        int bottom = depth;
        for (int above = 0; above < bottom && above < 1500; above += 90) {
            try {
                load(bottom - above, new Loader(Bottom.class, false));
            } catch (StackOverflowError e) {
                // The next round tries again with more room on the stack.
            } catch (IOException | ClassNotFoundException e) {
                throw new IllegalStateException(e);
            }
        }
        work(1000);
    }

    static void work(int n) {
        for (int i = 0; i < n; i++) {
            step();
        }
    }

    static void step() {}

    public static void main(String[] arguments) throws Exception {
        Class<?> type = new Loader(Alone.class, true).loadClass(Alone.class.getName());
        ((Runnable) type.getDeclaredConstructor().newInstance()).run();
        Thread deep = new Thread(null, Corners::atTheEnd, "deep", 1 << 19);
        deep.start();
        deep.join();
    }
}
