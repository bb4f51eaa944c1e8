package flashpager.recorder;

import flashpager.recorder.cap.CapException;
import flashpager.recorder.cap.CapImage;
import flashpager.recorder.cap.PlacedClass;
import flashpager.recorder.cap.PlacedMethod;
import java.util.List;

/** Where code lies: which address and which sizes a block is described with. */
interface CodeMap {
    /** Told that a method is not recorded. */
    interface Left {
        /** Names the method and says why, in one line. */
        void out(String method, String why);
    }

    /**
     * Places the methods of a class that have code. Of methods that cannot be recorded, the list
     * has one without blocks afterwards.
     *
     * @return the places of those methods, null for what is not in the image at all
     * @throws CapException if the class file is damaged
     */
    Place[] place(byte[] classFile, List<MethodCode> methods, Left left) throws CapException;

    /** Where a method and its blocks lie. Sizes are bytes of the image. */
    interface Place {
        /** Where the method begins. */
        long address();

        /** Bytes of the whole method. */
        int bytes();

        /** Where a block begins. */
        long blockAddress(int block);

        /** Bytes of a block; 0 for one that only tells what happens. */
        int blockBytes(int block);

        /** Instructions of a block. */
        int blockInstructions(int block);
    }

    /** One method behind the other as they come, with their bytecode as it is in the class file. */
    final class Bytecode implements CodeMap {
        /** Between two methods, so that they can be told apart. */
        private static final int GAP_BYTES = 1;

        private long next;

        /** Leaves so many bytes free before the first method. */
        Bytecode(long from) {
            next = from;
        }

        @Override
        public synchronized Place[] place(byte[] classFile, List<MethodCode> methods, Left left) {
            Place[] places = new Place[methods.size()];
            for (int i = 0; i < places.length; i++) {
                places[i] = new InClassFile(methods.get(i), next);
                next += methods.get(i).bytes() + GAP_BYTES;
            }
            return places;
        }
    }

    /** A method's place as it is in the class file. */
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

    /** As in CAP files; classes of packages that are in none of them follow as bytecode. */
    final class Cap implements CodeMap {
        private final CapImage image;
        private final Bytecode others;

        Cap(CapImage image) {
            this.image = image;
            others = new Bytecode(image.bytes());
        }

        @Override
        public Place[] place(byte[] classFile, List<MethodCode> methods, Left left)
                throws CapException {
            PlacedClass placed = image.place(classFile);
            if (placed == null) {
                return others.place(classFile, methods, left);
            }
            Place[] places = new Place[methods.size()];
            for (int i = 0; i < places.length; i++) {
                MethodCode method = methods.get(i);
                PlacedMethod found = placed.method(method.name(), method.descriptor());
                String why = placed.reason != null || found == null ? placed.reason : found.reason;
                if (found != null && found.address >= 0) {
                    places[i] = new InCapFile(method, found);
                    if (why == null && !hasPlaces(places[i], method.blocks())) {
                        why = "a block of it has no place in the CAP file";
                    }
                }
                if (places[i] == null || why != null) {
                    left.out(method.text(), why == null ? "it is not in the CAP file" : why);
                    methods.set(i, method.withoutBlocks());
                }
            }
            return places;
        }

        /** Whether all blocks begin and end where the CAP file's have counterparts. */
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

    /** A method's place as it is in a CAP file. */
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
