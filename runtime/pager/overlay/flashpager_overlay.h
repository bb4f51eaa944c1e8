/*
 * flashpager overlay: native code in flash that is not mapped, run function by function in RAM
 *
 * For a Cortex-M that has more code than memory to execute it from, and a NAND, an SD card or a serial NOR on
 * a bus that does not map it. The code is that of an unmodified compiler: `flashpager overlay` moves the bodies
 * of functions into a flash image, and each call of one goes through a slot in RAM to this engine. It
 * finds the function in a heap, or loads all of it. Flash that is read in place is faster and needs none of this.
 *
 *     if (fp_overlay_start() < 0) ...             // once, before the first call of a paged function
 *
 * Taking it into a project. Link the program once with -ffunction-sections and -Wl,--emit-relocs. Then
 * `flashpager overlay program.elf --ram 2K -o out` writes out/fp_overlay_design.h and out/overlay.ld. Compile
 * overlay.c and overlay_cortex_m.S with the folder out among the includes, link all again with
 * -Wl,-T,out/overlay.ld beside your own script, and give the result to `flashpager overlay second.elf -o out`. It
 * writes the program for the device into out, under the file's name, and out/flash.bin for the flash chip.
 *
 * The design. "fp_overlay_design.h" has the macros below. A program has one engine, and its state is static. It
 * allocates nothing and prints nothing.
 *
 * The port. You write fp_overlay_read() and fp_overlay_failed() for your device: the section "The port". These
 * two, and all that they call, must not be paged; `flashpager overlay` checks that.
 *
 * Slots. Every paged function has a slot of 8 bytes in RAM. The address of the slot is the address of the
 * function: pointers to functions hold it, so that they can be compared. Resident functions that may come to
 * paged code have a slot as well, a gate. A call from paged code keeps its caller and the offset in it on a
 * shadow stack, and returns through the engine, which loads the caller again if it was evicted meanwhile. A call
 * from resident code returns directly. Slots and heap lie in one memory, at most 4 MB apart.
 *
 * Memory. Slots and heap are executed: place them in RAM that may be executed, and that no cache serves. On a
 * Cortex-M7 that is ITCM, or caches are off. The engine does not clean caches.
 *
 * Registers. The engine changes ip and the flags, as a linker's veneers do, and keeps all others. It runs on the
 * stack of its caller and needs up to FP_OVERLAY_CALL_STACK_BYTES there, and what fp_overlay_read() needs.
 *
 * Interrupts. A handler may interrupt the engine at any instruction. It must neither be paged nor come to
 * paged code. `flashpager overlay` checks that for the handlers that the linked table of vectors names. Give
 * others to --resident, with all that they call. One task alone runs paged code: there is one shadow stack.
 *
 * Equality. The loads are those of `flashpager simulate --unit function` with the same policy, heap and resident
 * functions, for the trace of the program that was linked first.
 *
 * Failures. An image that cannot be read, one of another program, and a shadow stack that is too small end in
 * fp_overlay_failed() with the number of the function; out/overlay.txt has its name. There is no way back into
 * the program from there. The start compares the last 4 bytes of the image, which name the program. It does not
 * read the rest: fp_overlay_read() has to correct or refuse damaged bytes.
 */
#ifndef FLASHPAGER_OVERLAY_H
#define FLASHPAGER_OVERLAY_H

/* The design. `flashpager overlay` writes it. */
#define FP_OVERLAY_LRU_RUN 1   /* policy: LRU over neighbours in RAM */
#define FP_OVERLAY_FIFO_RING 2 /* policy: circular FIFO, the simplest */

#include "fp_overlay_design.h"

#ifndef FP_OVERLAY_POLICY
#error "fp_overlay_design.h has no FP_OVERLAY_POLICY: let 'flashpager overlay' write it"
#endif
#ifndef FP_OVERLAY_DEPTH
#define FP_OVERLAY_DEPTH 64 /* calls from paged code that may be open, each of 8 bytes */
#endif
#ifndef FP_OVERLAY_STATISTICS
#define FP_OVERLAY_STATISTICS 0 /* 1 keeps the counts of fp_overlay_stat() */
#endif

#if FP_OVERLAY_POLICY != FP_OVERLAY_LRU_RUN && FP_OVERLAY_POLICY != FP_OVERLAY_FIFO_RING
#error "FP_OVERLAY_POLICY is FP_OVERLAY_LRU_RUN or FP_OVERLAY_FIFO_RING"
#endif
#if FP_OVERLAY_SLOTS < 3 || FP_OVERLAY_SLOTS > 65535
#error "FP_OVERLAY_SLOTS is from 3 to 65535"
#endif
#if FP_OVERLAY_HEAP_BYTES < 4 || FP_OVERLAY_HEAP_BYTES % 4 || FP_OVERLAY_HEAP_BYTES > 131068
#error "FP_OVERLAY_HEAP_BYTES is a multiple of 4, up to 131,068"
#endif
#if FP_OVERLAY_DEPTH < 1 || FP_OVERLAY_DEPTH > 65535
#error "FP_OVERLAY_DEPTH is from 1 to 65535"
#endif

/* Bytes of stack that a call through the engine needs at most, beside those of fp_overlay_read(). */
#define FP_OVERLAY_CALL_STACK_BYTES 128

#ifndef __ASSEMBLER__
#include <stdint.h>

enum fp_overlay_error {
    FP_OVERLAY_OK = 0,
    FP_OVERLAY_IO = -1,      /* fp_overlay_read() has failed */
    FP_OVERLAY_IMAGE = -2,   /* the flash holds no image, or that of another program */
    FP_OVERLAY_TOO_DEEP = -3 /* more than FP_OVERLAY_DEPTH calls from paged code are open */
};

#if FP_OVERLAY_STATISTICS
struct fp_overlay_stat {
    uint32_t calls;   /* calls to paged functions from other functions */
    uint32_t returns; /* returns to a paged function from another one */
    uint32_t loads;   /* calls and returns that loaded their function */
    uint32_t bytes;   /* bytes of functions that were loaded */
};

/* Returns the counts since the start. */
const struct fp_overlay_stat *fp_overlay_stat(void);
#endif

/* Prepares the slots and compares the image with the program. Returns FP_OVERLAY_OK, or an error: then no paged
 * function may be called. */
int fp_overlay_start(void);

/* The port: functions that you write. */

/* Reads `bytes` bytes of the image, from its byte `at` on. `at`, `bytes` and the address `to` are multiples of 4.
 * Returns 0, or another number if they cannot be read. */
int fp_overlay_read(uint32_t at, void *to, uint32_t bytes);

/* Stops the program after an error: a reset, or an endless loop with a light. `function` is the number of the
 * function that could not be called, or could not make a call. */
_Noreturn void fp_overlay_failed(enum fp_overlay_error error, unsigned function);

#endif
#endif
