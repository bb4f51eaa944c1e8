/** Does some work, and ends in the way that the argument names. */
public class Ends {
    static void step() {}

    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 12_345; i++) {
            step();
        }
        switch (arguments[0]) {
            case "exit" -> System.exit(3);
            case "halt" -> Runtime.getRuntime().halt(4);
            case "kill" -> {
                String self = Long.toString(ProcessHandle.current().pid());
                new ProcessBuilder("sh", "-c", "sleep 1; kill -9 " + self).start().waitFor();
            }
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }
}
