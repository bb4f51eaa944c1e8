/*
 * An interpreter of Java bytecode that runs in place: from flash, through the pager
 *
 * The bytecode is an image that specialize.py made. It lies in flash and comes through one cursor
 * of the pager, a byte at a time, in the order in which it is executed and none ahead. What
 * specialize.py made besides (program.h: classes, methods, constants) lies in the processor's own
 * memory of programs; heap, statics and frames lie in its RAM.
 *
 * It has what programs for sensors use: ints, longs in arithmetic, objects, arrays, calls of every
 * kind, initialisers of classes. It has no floats, exceptions, switches, threads, or strings, and
 * specialize.py refuses a program that uses them. There is no collector: the heap is as large as
 * all that is ever allocated, and vm_stop() is called where it is full. So it is where a JVM would
 * throw. Nobody verifies bytecode on board: the image is trusted, as specialize.py made it of what
 * a JVM took.
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

/* An object: a place in the heap; 0 is null. */
typedef uint16_t vm_ref;

/* Empty the heap and go to the image's begin. The pager is started before. */
void vm_start(void);

/* Make an object of a class. */
vm_ref vm_new(uint8_t number);

/* Call a method, with arguments in slots, to its end. Gives the slot that it returns. */
int32_t vm_call(uint16_t method, const int32_t *arguments, uint8_t count);

/* The bytes of an array of bytes, and how many there are. */
uint8_t *vm_bytes(vm_ref array, uint16_t *length);

/* The object that a field of an object holds, by its place. */
vm_ref vm_field_ref(vm_ref object, uint8_t place);

/* Bytes of the heap, and slots of the stack, that were used at most. */
uint16_t vm_heap_used(void);
uint16_t vm_stack_used(void);

/* What the program around it has. */

/* Stop, and say why, a text of PROGRAM_TEXT(): something went wrong before this offset of the
 * image. */
__attribute__((noreturn)) void vm_stop(const char *why, uint16_t at);

/* A method that is not in the image, by its place in specialize.py's NATIVES. `slots` are its
 * arguments; gives what it returns. */
int32_t vm_native(uint8_t number, const int32_t *slots);

#endif
