import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.function.IntUnaryOperator;
import java.util.function.Supplier;

/** Executes every transfer of control in bytecode, except exceptions that the JVM itself throws. */
public class Steps {
    static int total;

    interface Shape {
        int area();

        default int twice() {
            return 2 * area();
        }

        static Shape square(int side) {
            return () -> side * side;
        }
    }

    enum Kind implements Shape {
        SMALL,
        LARGE {
            @Override
            public int area() {
                return 100;
            }
        };

        @Override
        public int area() {
            return 1;
        }
    }

    /** A class that is initialised in the middle of the code that uses it. */
    static class Late {
        static int value = 3;
        static final int[] TABLE = new int[4];

        static {
            for (int i = 0; i < TABLE.length; i++) {
                TABLE[i] = i * value;
            }
        }

        int field = total > 0 ? 1 : 2;
    }

    interface Early {
        int CONSTANT = total + 5;
    }

    /** Names a field as its own, though access to it initialises another class. */
    static class Heir implements Early {
        static int inherited(int n) {
            int twice = 2 * n;
            return CONSTANT + twice + n;
        }
    }

    static class Base {
        final String name;

        Base(String name, int times) {
            this.name = name + times;
        }

        Base(boolean first) {
            this(first ? "one" : "two", first ? 1 : 2);
        }
    }

    class Inner extends Base {
        Inner(int n) {
            super(n > 0 ? (n > 1 ? "many" : "some") : "none", n);
            total += n;
        }
    }

    static int table(int i) {
        switch (i) {
            case 1:
                return 10;
            case 2:
                i += 5;
            case 3:
                return i;
            default:
                return -1;
        }
    }

    static int lookup(int i) {
        return switch (i) {
            case -1000 -> 1;
            case 7 -> 2;
            case 1_000_000 -> 3;
            default -> 4;
        };
    }

    static int byName(String name) {
        switch (name) {
            case "left":
                return 1;
            case "right":
                return 2;
            default:
                return 0;
        }
    }

    /** A method that begins with a loop. */
    static void countdown(int n) {
        do {
            n--;
        } while (n > 0);
    }

    static int recursive(int n) {
        return n <= 0 ? 0 : n + recursive(n - 1);
    }

    static int thrown(int n) {
        try {
            if (n == 0) {
                throw new IllegalStateException("zero");
            }
            return across(n);
        } catch (IllegalStateException e) {
            return e.getMessage().length();
        } catch (RuntimeException e) {
            return -1;
        } finally {
            total++;
        }
    }

    static int across(int n) {
        try {
            return below(n) + 1;
        } finally {
            total += 2;
        }
    }

    static int below(int n) {
        if (n % 2 == 1) {
            throw new UnsupportedOperationException();
        }
        return n;
    }

    static long arithmetic(long a, double b, float c) {
        long result = (a << 3) % 7 + (long) (b / c);
        return result > 0 ? result : -result;
    }

    static int manyLocals(int n) {
        long a0 = n, a1 = n, a2 = n, a3 = n, a4 = n, a5 = n, a6 = n, a7 = n, a8 = n, a9 = n;
        long b0 = a0, b1 = a1, b2 = a2, b3 = a3, b4 = a4, b5 = a5, b6 = a6, b7 = a7, b8 = a8;
        int wide = 0;
        for (int i = 0; i < 3; i++) {
            wide += 1000;
        }
        return (int) (a9 + b0 + b1 + b2 + b3 + b4 + b5 + b6 + b7 + b8) + wide;
    }

    static int sum(Integer... numbers) {
        int sum = 0;
        for (int number : numbers) {
            sum += number;
        }
        return sum;
    }

    synchronized int locked(Object lock) {
        synchronized (lock) {
            return lock.hashCode() != 0 || lock == this ? 1 : 0;
        }
    }

    static IntUnaryOperator twice(IntUnaryOperator operator) {
        return n -> operator.applyAsInt(operator.applyAsInt(n));
    }

    public static void main(String[] arguments) {
        boolean none = arguments.length == 0;
        Base base = new Base(none ? "a" : "b", none ? 1 : 2);
        for (int i = 0; i < 3; i++) {
            base = new Base(i == 1);
            total += new Base(base.name + i, i).name.length() + table(i) + lookup(i * 7);
        }
        Steps steps = new Steps();
        Inner inner = steps.new Inner(2);
        int late = 1 + Late.value * (none ? 2 : 3) + Late.TABLE[2] + new Late().field;
        countdown(3);
        countdown(0);
        total += recursive(5) + byName("right") + byName("up") + lookup(1_000_000) + lookup(-1000);
        total += thrown(0) + thrown(1) + thrown(2) + late + Heir.inherited(total);
        total += (int) arithmetic(-12345678901L, 3.5, 0.5f) + manyLocals(2) + sum(1, 2, 3);
        total += steps.locked(new Object()) + StepsOld.loop(3);
        for (Shape shape : new Shape[] {Kind.SMALL, Kind.LARGE, Shape.square(3), () -> 7}) {
            total += shape.twice();
        }
        switch (Kind.valueOf("LARGE")) {
            case SMALL -> total += 1;
            case LARGE -> total += 2;
        }
        List<String> words = new ArrayList<>(List.of("pear", "fig", "apple"));
        words.sort((one, other) -> one.length() - other.length());
        Function<String, Integer> length = String::length;
        Supplier<List<String>> maker = ArrayList::new;
        total += length.apply(words.get(0)) + maker.get().size() + twice(n -> n * 3).applyAsInt(2);
        Object object = words;
        if (object instanceof List<?> list && !list.isEmpty()) {
            total += list.size();
        }
        String text = "total " + total + ' ' + inner.name + base.name + (none ? 1.5 : 2L) + none;
        System.out.println(text);
    }
}
