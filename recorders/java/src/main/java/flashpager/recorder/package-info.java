/**
 * flashpager's Java recorder: a JVM agent that streams every executed basic block of bytecode, in
 * the order executed. recorders/README.md ("Recorder stream") describes the stream.
 *
 * <p>Its code may run between any two instructions of the program, on any thread: it prints
 * nothing, starts no thread, and takes no other lock than its own.
 */
package flashpager.recorder;
