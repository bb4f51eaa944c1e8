package flashpager.recorder;

import flashpager.recorder.cap.CapException;
import flashpager.recorder.cap.CapImage;
import flashpager.recorder.cap.PlacedClass;
import flashpager.recorder.cap.PlacedMethod;
import java.util.List;

/** Maps methods and blocks to the addresses and sizes with which they are described. */
interface CodeMap {
    /** Receives methods that are not recorded. */
    interface LeftOutReporter {
        /** Reports a method and the reason, in one line. */
        void report(String method, String reason);
    }

    /**
     * Places the methods of a class that have code. Methods that cannot be recorded are replaced in
     * the list by ones without blocks.
     *
     * @return the places of those methods, null for those that are not in the image
     * @throws CapException if the class file is damaged
     */
    Place[] place(byte[] classFile, List<MethodCode> methods, LeftOutReporter leftOut)
            throws CapException;

    /** The place of a method and its blocks. Sizes are bytes of the image. */
    interface Place {
        /** Returns the method's address. */
        long address();

        /** Returns the bytes of the whole method. */
        int bytes();

        /** Returns a block's address. */
        long blockAddress(int block);

        /** Returns the bytes of a block; 0 for one that only reports a call or a return. */
        int blockBytes(int block);

        /** Returns the instructions of a block. */
        int blockInstructions(int block);
    }

    /** Places methods one after another as they are loaded, with the class file's bytecode. */
    final class Bytecode implements CodeMap {
        /** Free bytes between two methods, so that the methods are not adjacent. */
        private static final int GAP_BYTES = 1;

        private long next;

        /** Leaves {@code from} bytes free before the first method. */
        Bytecode(long from) {
            next = from;
        }

        @Override
        public synchronized Place[] place(
                byte[] classFile, List<MethodCode> methods, LeftOutReporter leftOut) {
            Place[] places = new Place[methods.size()];
            for (int i = 0; i < places.length; i++) {
                places[i] = new InClassFile(methods.get(i), next);
                next += methods.get(i).bytes() + GAP_BYTES;
            }
            return places;
        }
    }

    /** The place of a method with its class file's bytecode. */
    record InClassFile(MethodCode method, long address) implements Place {
        @Override
        public int bytes() {
            return method.bytes();
        }

        @Override
        public long blockAddress(int block) {
            return address + method.start(block);
        }

        @Override
        public int blockBytes(int block) {
            return method.end(block) - method.start(block);
        }

        @Override
        public int blockInstructions(int block) {
            return method.instructions(block);
        }
    }

    /**
     * Places methods as in CAP files. Classes whose packages are in none of them follow as
     * bytecode.
     */
    final class Cap implements CodeMap {
        private final CapImage image;
        private final Bytecode others;

        Cap(CapImage image) {
            this.image = image;
            others = new Bytecode(image.bytes());
        }

        @Override
        public Place[] place(byte[] classFile, List<MethodCode> methods, LeftOutReporter leftOut)
                throws CapException {
            PlacedClass placed = image.place(classFile);
            if (placed == null) {
                return others.place(classFile, methods, leftOut);
            }
            Place[] places = new Place[methods.size()];
            for (int i = 0; i < places.length; i++) {
                MethodCode method = methods.get(i);
                PlacedMethod inCap = placed.method(method.name(), method.descriptor());
                String reason =
                        placed.reason != null || inCap == null ? placed.reason : inCap.reason;
                if (inCap != null && inCap.address >= 0) {
                    places[i] = new InCapFile(method, inCap);
                    if (reason == null && !hasPlaces(places[i], method.blocks())) {
                        reason = "a block of it has no place in the CAP file";
                    }
                }
                if (places[i] == null || reason != null) {
                    String missing = "it is not in the CAP file";
                    leftOut.report(method.text(), reason == null ? missing : reason);
                    methods.set(i, method.withoutBlocks());
                }
            }
            return places;
        }

        /** Returns whether all blocks begin and end where the CAP file has counterparts. */
        private static boolean hasPlaces(Place place, int blocks) {
            for (int block = 0; block < blocks; block++) {
                if (place.blockAddress(block) < 0
                        || place.blockBytes(block) < 0
                        || place.blockInstructions(block) < 0) {
                    return false;
                }
            }
            return true;
        }
    }

    /** The place of a method in a CAP file. */
    record InCapFile(MethodCode method, PlacedMethod placed) implements Place {
        @Override
        public long address() {
            return placed.address;
        }

        @Override
        public int bytes() {
            return placed.bytes;
        }

        @Override
        public long blockAddress(int block) {
            return placed.address(method.start(block));
        }

        @Override
        public int blockBytes(int block) {
            return placed.bytes(method.start(block), method.end(block));
        }

        @Override
        public int blockInstructions(int block) {
            return placed.instructions(method.start(block), method.end(block));
        }
    }
}
