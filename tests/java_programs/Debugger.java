import com.sun.jdi.Bootstrap;
import com.sun.jdi.Location;
import com.sun.jdi.Method;
import com.sun.jdi.ReferenceType;
import com.sun.jdi.VirtualMachine;
import com.sun.jdi.connect.Connector;
import com.sun.jdi.connect.LaunchingConnector;
import com.sun.jdi.event.BreakpointEvent;
import com.sun.jdi.event.ClassPrepareEvent;
import com.sun.jdi.event.Event;
import com.sun.jdi.event.EventSet;
import com.sun.jdi.event.VMDisconnectEvent;
import com.sun.jdi.request.ClassPrepareRequest;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * Runs a program of one thread with a breakpoint at each of the places that a file lists, as {@code
 * Some$Class.method(int) 12}, and prints those places in the order executed. Single steps cannot
 * be used, because they skip static initialisers.
 */
public class Debugger {
    public static void main(String[] arguments) throws Exception {
        Set<String> places = new HashSet<>(Files.readAllLines(Path.of(arguments[2])));
        LaunchingConnector connector = Bootstrap.virtualMachineManager().defaultConnector();
        Map<String, Connector.Argument> how = connector.defaultArguments();
        how.get("main").setValue(arguments[0]);
        how.get("options").setValue("-cp " + arguments[1]);
        VirtualMachine machine = connector.launch(how);
        ClassPrepareRequest prepare = machine.eventRequestManager().createClassPrepareRequest();
        prepare.addClassFilter(arguments[0] + "*");
        prepare.enable();
        StringBuilder seen = new StringBuilder();
        while (true) {
            EventSet events = machine.eventQueue().remove();
            for (Event event : events) {
                if (event instanceof ClassPrepareEvent prepared) {
                    stopEverywhere(machine, prepared.referenceType(), places);
                } else if (event instanceof BreakpointEvent stopped) {
                    Location at = stopped.location();
                    seen.append(name(at.method())).append(at.codeIndex()).append('\n');
                } else if (event instanceof VMDisconnectEvent) {
                    System.out.print(seen);
                    return;
                }
            }
            events.resume();
        }
    }

    private static String name(Method method) {
        String arguments = String.join(",", method.argumentTypeNames());
        return method.declaringType().name() + '.' + method.name() + '(' + arguments + ") ";
    }

    private static void stopEverywhere(
            VirtualMachine machine, ReferenceType type, Set<String> places) {
        for (Method method : type.methods()) {
            String name = name(method);
            for (int at = 0; at < method.bytecodes().length; at++) {
                if (places.contains(name + at)) {
                    Location location = method.locationOfCodeIndex(at);
                    machine.eventRequestManager().createBreakpointRequest(location).enable();
                }
            }
        }
    }
}
