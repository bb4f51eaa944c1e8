/** Two threads more than the first, each of which does what its name says so often. */
public class Threads {
    static void work(int n) {
        for (int i = 0; i < n; i++) {
            step();
        }
    }

    static void step() {}

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
            for (int i = 0; i < many.length; i++) {
                many[i] = new Thread(() -> work(10), "number " + i);
            }
            meet(many);
        } else {
            Thread worker = new Thread(() -> work(70_000), "worker");
            meet(worker, new Thread(() -> work(50_000), "Zweiter Ärger"));
        }
    }
}
