package flashpager.recorder;

import flashpager.recorder.cap.CapException;
import flashpager.recorder.cap.CapImage;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel.MapMode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;

/** The entry point with which the JVM starts the recorder, before the program. */
public final class Agent {
    private static final int FAILED = 2;

    private Agent() {}

    /** Begins to record, or ends the JVM. */
    public static void premain(String arguments, Instrumentation instrumentation) {
        // Recording is paused, since JDK classes may already be instrumented while the agent uses
        // them. Their execution here is not the program's.
        Recorder.pause();
        try {
            start(Options.parse(arguments), instrumentation);
        } catch (IllegalArgumentException | IOException e) {
            if (!Recorder.refuse(e.getMessage())) {
                System.err.println("flashpager recorder: " + e.getMessage());
            }
            Runtime.getRuntime().halt(FAILED);
        } finally {
            Recorder.resume();
        }
    }

    private static void start(Options options, Instrumentation instrumentation)
            throws IOException {
        if (Agent.class.getClassLoader() != null) {
            throw new IOException("the agent's jar must be named flashpager-java.jar");
        }
        // A channel would be closed when a thread of the program is interrupted.
        FileOutputStream pipe = new FileOutputStream("/proc/self/fd/" + options.pipe());
        MappedByteBuffer memory;
        int slots;
        try (RandomAccessFile file =
                new RandomAccessFile("/proc/self/fd/" + options.tail(), "rw")) {
            slots = (int) ((file.length() - Stream.BYTES) / Slot.BYTES);
            if (slots < 1) {
                throw new IOException("the tail has no room for a thread");
            }
            memory = file.getChannel().map(MapMode.READ_WRITE, 0, file.length());
        }
        Stream stream = new Stream(memory.slice(0, Stream.BYTES), pipe);
        Slot[] unused = new Slot[slots];
        for (int i = 0; i < slots; i++) {
            unused[i] = new Slot(memory.slice(Stream.BYTES + i * Slot.BYTES, Slot.BYTES));
        }
        Recorder.start(stream, unused, options.oneStream());
        Recorder.meta("recorder", "java");
        Recorder.meta("target", "jvm");
        Recorder.meta("outside", "unknown");

        Transformer transformer =
                new Transformer(new Selection(options.include()), codeMap(options.cap()));
        instrumentation.addTransformer(transformer, true);
        // The second pass finds the classes that were loaded during the first one, which the JVM
        // does not offer to this transformer.
        Set<Class<?>> tried = Collections.newSetFromMap(new IdentityHashMap<>());
        record(transformer, instrumentation, tried);
        record(transformer, instrumentation, tried);
    }

    private static CodeMap codeMap(String cap) throws CapException {
        if (cap == null) {
            return new CodeMap.Bytecode(0);
        }
        CapImage image = CapImage.read(cap);
        Recorder.meta("given", Integer.toString(image.bytes()));
        return new CodeMap.Cap(image);
    }

    /** Instruments classes that are already loaded. */
    private static void record(
            Transformer transformer, Instrumentation instrumentation, Set<Class<?>> tried) {
        List<Class<?>> classes = new ArrayList<>();
        for (Class<?> type : instrumentation.getAllLoadedClasses()) {
            if (type.isArray()
                    || type.isHidden()
                    || !transformer.selects(type)
                    || !tried.add(type)) {
                continue;
            }
            if (instrumentation.isModifiableClass(type)) {
                classes.add(type);
            } else {
                transformer.leaveOut(type.getName(), "the JVM does not let it be changed");
            }
        }
        if (classes.isEmpty()) {
            return;
        }
        try {
            instrumentation.retransformClasses(classes.toArray(new Class<?>[0]));
        } catch (UnmodifiableClassException | LinkageError e) {
            // One class has failed, and none was changed. So each is tried alone.
            for (Class<?> type : classes) {
                try {
                    instrumentation.retransformClasses(type);
                } catch (UnmodifiableClassException | LinkageError reason) {
                    transformer.leaveOut(type.getName(), reason.toString());
                }
            }
        }
    }
}
