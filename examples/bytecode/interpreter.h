/*
 * An interpreter of Java bytecode that runs in place: from flash, through the pager
 *
 * specialize.py makes the image of the bytecode, and the tables of classes, methods and constants in
 * program.h. The image lies in flash. It is read through one cursor of the pager, a byte at a time, in
 * the order of execution; no byte is read ahead. The tables lie in the processor's program memory;
 * heap, static fields and frames lie in its RAM.
 *
 * The interpreter supports what programs for sensors use: ints, longs in arithmetic, objects, arrays,
 * calls of every kind, initialisers of classes. It has no floats, exceptions, switches, threads or
 * strings, and specialize.py refuses a program that uses them. There is no garbage collector: the heap
 * must hold everything that is ever allocated. vm_stop() is called when the heap is full, and where a
 * JVM would throw an exception. The bytecode is not verified on the device, because specialize.py made
 * it from a program that runs on a JVM.
 */
#ifndef BYTECODE_INTERPRETER_H
#define BYTECODE_INTERPRETER_H

#include <stdint.h>

/* Size of the heap in bytes, and of the stack of frames in slots of 4 bytes. */
#ifndef VM_HEAP_BYTES
#define VM_HEAP_BYTES 8192
#endif
#ifndef VM_STACK_SLOTS
#define VM_STACK_SLOTS 160
#endif

/* A reference to an object: its offset in the heap, or 0 for null. */
typedef uint16_t vm_ref;

/* Empties the heap and the stack. The pager must have been started. */
void vm_start(void);

/* Allocates an object of the class with this number. Its fields are zero. */
vm_ref vm_new(uint8_t number);

/* Calls a method, whose arguments take `count` slots, and runs it to its end. Returns its result, or 0
 * if it has none. */
int32_t vm_call(uint16_t method, const int32_t *arguments, uint8_t count);

/* Returns the bytes of a byte array, and stores their number in `length`. */
uint8_t *vm_bytes(vm_ref array, uint16_t *length);

/* Returns the reference in a field of an object. `offset` is the field's offset in bytes. */
vm_ref vm_field_ref(vm_ref object_ref, uint8_t offset);

/* Return the most bytes of the heap, and the most slots of the stack, that were used so far. */
uint16_t vm_heap_used(void);
uint16_t vm_stack_used(void);

/* Functions that the program around the interpreter defines. */

/* Stops because the instruction before `offset` in the image failed. The reason is a text of
 * PROGRAM_TEXT(). */
__attribute__((noreturn)) void vm_stop(const char *reason, uint16_t offset);

/* Runs a native method, by its index in specialize.py's NATIVES, with its arguments in `slots`.
 * Returns its result. */
int32_t vm_native(uint8_t number, const int32_t *slots);

#endif
