import java.util.ArrayList;
import java.util.List;

/** A program that survives all kinds of errors, and prints their stack traces. */
public class Trouble {
    static int depth;

    static int whole(int[] numbers, int at) {
        int before = at + 1;
        return numbers[at] + before * 2;
    }

    static void caught(Runnable what) {
        try {
            what.run();
        } catch (RuntimeException | Error e) {
            System.out.println(e);
            for (StackTraceElement frame : e.getStackTrace()) {
                // The JVM's own frames have numbers that change from run to run.
                if (frame.getClassName().startsWith("Trouble")) {
                    System.out.println("  " + frame);
                }
            }
        } finally {
            System.out.println("after all");
        }
    }

    static int endless(int n) {
        depth++;
        return endless(n + 1) + depth;
    }

    static void overflow() {
        for (int i = 0; i < 20; i++) {
            try {
                endless(i);
            } catch (StackOverflowError e) {
                depth = 0;
            }
        }
    }

    static void exhaust() {
        List<long[]> all = new ArrayList<>();
        try {
            while (true) {
                all.add(new long[1 << 18]);
            }
        } catch (OutOfMemoryError e) {
            all.clear();
        }
    }

    static int interrupted() throws Exception {
        int seen = 0;
        for (int i = 0; i < 30_000; i++) {
            Thread.currentThread().interrupt();
            seen += Thread.interrupted() ? 1 : 0;
        }
        Thread.currentThread().interrupt();
        try {
            Thread.sleep(10_000);
        } catch (InterruptedException e) {
            seen++;
        }
        return seen;
    }

    public static void main(String[] arguments) throws Exception {
        caught(() -> whole(null, 1));
        caught(() -> whole(new int[3], 3));
        caught(() -> System.out.println(1 / whole(new int[1], 0 * arguments.length)));
        caught(() -> System.out.println((Integer) (Object) "text"));
        overflow();
        exhaust();
        System.out.println(interrupted());
        System.out.write(new byte[] {(byte) 0xff, 0, 10});
        System.out.flush();
        throw new Exception("at last", new IllegalStateException("for a reason"));
    }
}
