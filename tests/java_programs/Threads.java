import java.util.concurrent.CountDownLatch;

/** Runs some threads at the same time, and then many threads one after another. */
public class Threads {
    static void work(int n) {
        for (int i = 0; i < n; i++) {
            step();
        }
    }

    static void step() {}

    static void workTogether(CountDownLatch all) {
        all.countDown();
        try {
            all.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        work(10);
    }

    static void meet(Thread... threads) throws InterruptedException {
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        work(1000);
        if (arguments.length > 0) {
            Thread[] many = new Thread[Integer.parseInt(arguments[0])];
            CountDownLatch all = new CountDownLatch(many.length);
            for (int i = 0; i < many.length; i++) {
                many[i] = new Thread(() -> workTogether(all), "number " + i);
            }
            meet(many);
            for (int i = 0; i < many.length; i++) {
                meet(new Thread(() -> work(10), "later " + i));
            }
        } else {
            Thread worker = new Thread(() -> work(70_000), "worker");
            meet(worker, new Thread(() -> work(50_000), "Zweiter Ärger"));
        }
    }
}
