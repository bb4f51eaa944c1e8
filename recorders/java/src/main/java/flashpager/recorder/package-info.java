/**
 * flashpager's Java recorder: a JVM agent that streams every executed basic block of bytecode, in
 * the order executed. The stream is described in docs/formats.md ("Recorder stream").
 *
 * <p>What runs in here may run between any two instructions of the program, on any of its threads:
 * it prints nothing, starts no thread, takes one lock of its own and nothing else.
 */
package flashpager.recorder;
