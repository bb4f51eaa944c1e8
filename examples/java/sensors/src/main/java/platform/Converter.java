package platform;

import java.util.ArrayList;
import java.util.List;

/** The analog-digital converter with the signals at its channels. It keeps all measured values. */
final class Converter {
    private static final int CONVERSION_TICKS = 8;

    private final World world;
    private final Signals signals = new Signals();
    private final List<List<Integer>> history = new ArrayList<>();
    private boolean busy;
    private int active;
    private int result;

    Converter(World world) {
        this.world = world;
        for (int i = 0; i < Machine.CHANNELS; i++) {
            history.add(new ArrayList<>());
        }
    }

    void start(int channel) {
        if (busy) {
            throw new IllegalStateException("a conversion was started while another one runs");
        }
        busy = true;
        active = channel;
        int value = Math.max(0, Math.min(4095, signals.at(channel, world.now())));
        world.in(CONVERSION_TICKS, () -> {
            result = value;
            world.interrupt(Machine.CONVERTED);
        });
    }

    int result() {
        if (!busy) {
            throw new IllegalStateException("there is no conversion");
        }
        busy = false;
        history.get(active).add(result);
        return result;
    }

    /** Returns all measured values of a channel, in converter counts. */
    List<Integer> history(int channel) {
        return history.get(channel);
    }
}
