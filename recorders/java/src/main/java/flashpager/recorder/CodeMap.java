package flashpager.recorder;

/** Where code lies: which address and which sizes a block is described with. */
interface CodeMap {
    /** Places a method. Called once a method, in the order in which classes are loaded. */
    Place place(MethodCode method);

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

        @Override
        public Place place(MethodCode method) {
            long address = next;
            next += method.bytes() + GAP_BYTES;
            return new Place() {
                @Override
                public long address() {
                    return address;
                }

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
            };
        }
    }
}
