/*
 * An interpreter of Java bytecode that runs in place: from flash, through the pager
 *
 * The bytecode is an image that specialize.py made. It lies in flash, and is read through one cursor
 * of the pager, a byte at a time, in the order of execution; no byte is read ahead. The tables of
 * program.h (classes, methods, constants), which specialize.py made, too, lie in the processor's own
 * program memory. Heap, statics and frames lie in its RAM.
 *
 * It has what programs for sensors use: ints, longs in arithmetic, objects, arrays, calls of every
 * kind, initialisers of classes. It has no floats, exceptions, switches, threads, or strings, and
 * specialize.py refuses a program that uses them. There is no garbage collector: the heap must hold
 * everything that is ever allocated. vm_stop() is called when it is full, and where a JVM would
 * throw. The bytecode is not verified on board, as specialize.py made it from a program that runs on
 * a JVM.
 */
#ifndef BYTECODE_INTERPRETER_H
#define BYTECODE_INTERPRETER_H

#include <stdint.h>

/* Bytes of the heap, and slots of 4 bytes for all frames. */
#ifndef VM_HEAP_BYTES
#define VM_HEAP_BYTES 8192
#endif
#ifndef VM_STACK_SLOTS
#define VM_STACK_SLOTS 160
#endif

/* A reference to an object: its place in the heap, or 0 for null. */
typedef uint16_t vm_ref;

/* Empties the heap, and goes to the start of the image. The pager must have been started. */
void vm_start(void);

/* Makes an object of a class, and returns it. */
vm_ref vm_new(uint8_t number);

/* Calls a method with arguments in slots, and runs it to its end. Returns its result. */
int32_t vm_call(uint16_t method, const int32_t *arguments, uint8_t count);

/* Returns the bytes of a byte array, and stores their number in `length`. */
uint8_t *vm_bytes(vm_ref array, uint16_t *length);

/* Returns the object in a field of an object, by the field's place. */
vm_ref vm_field_ref(vm_ref object, uint8_t place);

/* Return the most bytes of the heap, and the most slots of the stack, that were used so far. */
uint16_t vm_heap_used(void);
uint16_t vm_stack_used(void);

/* Functions that the program around the interpreter defines. */

/* Stops with the reason, a text of PROGRAM_TEXT(): the instruction before this offset of the image
 * failed. */
__attribute__((noreturn)) void vm_stop(const char *why, uint16_t at);

/* Runs a native method, by its index in specialize.py's NATIVES, with its arguments in `slots`.
 * Returns its result. */
int32_t vm_native(uint8_t number, const int32_t *slots);

#endif
