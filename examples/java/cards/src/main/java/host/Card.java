package host;

import com.licel.jcardsim.base.Simulator;
import com.licel.jcardsim.base.SimulatorRuntime;
import com.licel.jcardsim.utils.AIDUtil;
import java.io.ByteArrayOutputStream;
import java.util.Map;
import javacard.framework.AID;
import javacard.framework.Applet;

/** A simulated card with one applet. Its random numbers are the same in every run. */
final class Card {
    /**
     * A runtime that knows the selected applet, as a real card does. jCardSim's own searches it
     * several times in each command, with the API's AID.equals, which would be recorded.
     */
    private static final class Runtime extends SimulatorRuntime {
        @Override
        public ApplicationInstance lookupApplet(AID wanted) {
            for (Map.Entry<AID, ApplicationInstance> applet : applets.entrySet()) {
                if (applet.getKey() == wanted) {
                    return applet.getValue();
                }
            }
            return super.lookupApplet(wanted);
        }
    }

    private final Simulator simulator;

    Card(String applet, byte[] aid, byte[] parameter) throws ScriptException {
        System.setProperty("com.licel.jcardsim.randomdata.seed", "466C617368506167");
        System.setProperty("com.licel.jcardsim.randomdata.secure", "0");
        simulator = new Simulator(new Runtime());
        AID name = AIDUtil.create(aid);
        ByteArrayOutputStream data = new ByteArrayOutputStream();
        data.write(aid.length);
        data.writeBytes(aid);
        data.write(0);
        data.write(parameter.length);
        data.writeBytes(parameter);
        try {
            Class<? extends Applet> type = Class.forName(applet).asSubclass(Applet.class);
            simulator.installApplet(name, type, data.toByteArray(), (short) 0, (byte) data.size());
        } catch (ClassNotFoundException | RuntimeException e) {
            throw new ScriptException("cannot install " + applet + ": " + e);
        }
    }

    byte[] transmit(byte[] command) {
        return simulator.transmitCommand(command);
    }

    /** Switches the card's power off and on. */
    void reset() {
        simulator.reset();
    }
}
