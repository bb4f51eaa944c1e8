package sensors.net;

import sensors.config.Dissemination;
import sensors.event.Scheduler;
import sensors.radio.Frame;
import sensors.radio.FrameFormat;
import sensors.radio.FramePool;
import sensors.radio.Link;
import sensors.radio.LinkListener;
import sensors.util.Random;

/**
 * Routes messages of this mote and of motes farther away to the sink. Each message goes to the
 * neighbour with the least cost to the sink.
 */
public final class Router implements Uplink, LinkListener {
    private static final int MOST_HOPS = 8;
    /** A new parent must be better by this much, so that small changes do not change the route. */
    private static final int ADVANTAGE = Neighbour.TRANSMISSION / 2;

    final int address;
    final FramePool pool;
    final Link link;
    Neighbour parent;
    private final Dissemination dissemination;
    private final NeighbourTable neighbours = new NeighbourTable();
    private final DuplicateFilter filter = new DuplicateFilter();
    private final BeaconTimer beacons;
    private int number;

    public int submitted;
    public int forwarded;
    public int delivered;
    public int dropped;
    public int duplicates;
    public int parentChanges;

    public Router(Scheduler scheduler, int address, FramePool pool, Link link, Random random,
            Dissemination dissemination) {
        this.address = address;
        this.pool = pool;
        this.link = link;
        this.dissemination = dissemination;
        beacons = new BeaconTimer(scheduler, this, random);
        beacons.schedule(BeaconTimer.SHORTEST);
    }

    @Override
    public Frame open(int port) {
        Frame frame = pool.take();
        if (frame != null) {
            frame.begin(FrameFormat.DATA, 0, address);
            frame.put8(address);
            frame.put8(0);
            frame.put8(0);
            frame.put8(port);
        }
        return frame;
    }

    @Override
    public void submit(Frame frame) {
        frame.data[MessageFormat.NUMBER] = (byte) ++number;
        submitted++;
        route(frame);
    }

    private void route(Frame frame) {
        if (parent == null) {
            drop(frame);
        } else {
            frame.data[FrameFormat.DESTINATION] = (byte) parent.address;
            link.send(frame);
        }
    }

    private void drop(Frame frame) {
        dropped++;
        pool.give(frame);
    }

    @Override
    public void received(Frame frame) {
        int kind = frame.get8(FrameFormat.KIND);
        if (kind == FrameFormat.DATA) {
            if (filter.isNew(frame.get16(MessageFormat.ORIGIN))) {
                forward(frame);
                return;
            }
            duplicates++;
        } else if (kind == FrameFormat.BEACON) {
            hear(frame);
        } else if (kind == FrameFormat.PARAMETERS) {
            dissemination.hear(frame);
        }
        pool.give(frame);
    }

    private void forward(Frame frame) {
        forwarded++;
        if (++frame.data[MessageFormat.HOPS] > MOST_HOPS) {
            drop(frame);
            return;
        }
        frame.rerouted = false;
        frame.data[FrameFormat.SOURCE] = (byte) address;
        route(frame);
    }

    private void hear(Frame beacon) {
        int source = beacon.get8(FrameFormat.SOURCE);
        int number = beacon.get8(BeaconFormat.NUMBER);
        Neighbour neighbour = neighbours.find(source);
        if (neighbour == null) {
            neighbour = new Neighbour(source, number);
            neighbours.enter(neighbour, parent);
        }
        neighbour.beacon(number, beacon.get16(BeaconFormat.COST), beacon.get8(BeaconFormat.PARENT));
        chooseParent();
    }

    private void chooseParent() {
        Neighbour best = neighbours.best(address);
        if (best != null && best != parent
                && (parent == null || best.cost() + ADVANTAGE < parent.cost())) {
            parent = best;
            parentChanges++;
            beacons.schedule(BeaconTimer.SHORTEST);
        }
    }

    @Override
    public void sent(Frame frame, boolean arrived) {
        if (frame.get8(FrameFormat.KIND) != FrameFormat.DATA) {
            pool.give(frame);
            return;
        }
        Neighbour hop = neighbours.find(frame.get8(FrameFormat.DESTINATION));
        if (hop != null) {
            hop.transferred(arrived);
        }
        if (arrived) {
            delivered++;
            pool.give(frame);
            return;
        }
        chooseParent();
        if (parent == hop || frame.rerouted) {
            drop(frame);
        } else {
            frame.rerouted = true;
            route(frame);
        }
    }
}
