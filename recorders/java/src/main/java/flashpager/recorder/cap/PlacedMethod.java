package flashpager.recorder.cap;

/**
 * A method's place in the image. Addresses are bytes from the image's start.
 *
 * <p>A method's bytes are its header (6.9: stack, arguments and locals, 2 or 4 bytes), followed by
 * its bytecodes, as they lie on the card. A virtual machine reads the header at each call; blocks
 * do not contain it.
 */
public final class PlacedMethod {
    public final String name;
    public final String descriptor;

    /** Start of its header, or -1 if it is unknown. */
    public final int address;

    /** Bytes of header and code. */
    public final int bytes;

    /** Bytes of the header. */
    public final int headerBytes;

    /** The reason why its blocks have no places, in one line; null if they have places. */
    public final String reason;

    private final Alignment alignment;
    private final Flow flow;

    PlacedMethod(Method java, Method card, int base, Alignment alignment, String reason) {
        name = java.name;
        descriptor = java.descriptor;
        boolean isThere = card != null && card.codeBytes > 0;
        address = isThere ? base + card.offset : -1;
        headerBytes = isThere ? card.headerBytes : 0;
        bytes = isThere ? headerBytes + card.codeBytes : 0;
        flow = isThere ? card.flow : null;
        this.alignment = alignment;
        this.reason = reason;
    }

    /**
     * Returns the address of the counterpart of an offset from the method's first bytecode in the
     * class file. Returns -1 if there is none, as for all offsets that are not borders ({@link
     * Alignment}).
     */
    public int address(int offset) {
        int card = reason == null ? alignment.of(offset) : -1;
        return card < 0 ? -1 : address + headerBytes + card;
    }

    /**
     * Returns the bytes in the image of a block between two borders of the class file's code. They
     * are 0 if the block only has conversions that a card does not need, and -1 if one of the two
     * offsets is not a border.
     */
    public int bytes(int from, int to) {
        int start = address(from);
        int end = address(to);
        return start < 0 || end < start ? -1 : end - start;
    }

    /** Returns the Java Card instructions of such a block, or -1. */
    public int instructions(int from, int to) {
        if (bytes(from, to) < 0) {
            return -1;
        }
        return flow.instructions(alignment.of(from), alignment.of(to));
    }
}
