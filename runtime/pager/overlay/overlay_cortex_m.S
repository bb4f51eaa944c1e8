/*
 * The entries of the engine of overlays, for cores with Thumb-2: Cortex-M3, M4, M7, M33
 *
 * A slot in RAM sets ip to the address of its second word and comes to fp_overlay_enter, or for a resident
 * function to fp_overlay_gate, with the arguments of the call in their registers. fp_overlay_return is the return
 * address of calls that paged code makes. r0 to r3 hold arguments or results and are kept. Hits are handled
 * here, everything else in overlay.c. The tables are filled by `flashpager overlay`.
 */
#include "flashpager_overlay.h"

#ifdef __ARM_PCS_VFP
#error "the engine does not keep s0 to s15: compile with -mfloat-abi=soft or softfp"
#endif

    .syntax unified
    .thumb

/* Offsets in struct state of overlay.c. The frames of the shadow stack end where it begins. */
#define STATE (fp_overlay_memory + 8 * FP_OVERLAY_DEPTH)
#define CURRENT 4
#define TOP 8
#define USES 12
#define CALLS 16
#define RETURNS 20

/* Keeps the caller if it is paged: the slot of the caller and the offset in it. r3 is the state, r1 the function
 * that ran last, and lr is the new return address. */
    .macro keep_caller, resident
    push    {r0-r4}
    ldr     r3, =STATE
    ldm     r3, {r0-r2}
    sub     r0, lr, r0
    movw    r4, #(FP_OVERLAY_HEAP_BYTES & 0xffff)
#if FP_OVERLAY_HEAP_BYTES > 0xffff
    movt    r4, #(FP_OVERLAY_HEAP_BYTES >> 16)
#endif
    cmp     r0, r4
    bhs     \resident
    ldrh    r4, [r1]
    sub     r0, r0, r4, lsl #2
    cmp     r2, r3
    beq     fp_overlay_full
    stm     r2!, {r0, r1}
    str     r2, [r3, #TOP]
    ldr     lr, =fp_overlay_return
    .endm

/* Goes to `slow` if the function at ip is not in the heap; otherwise notes its use. r0 is its place. */
    .macro find, slow
    cmn     r0, #1
    beq     \slow
#if FP_OVERLAY_POLICY == FP_OVERLAY_LRU_RUN
    ldr     r2, [r3, #USES]
    adds    r2, #1
    lsls    r1, r2, #16
    beq     \slow
    str     r2, [r3, #USES]
    strh    r2, [ip, #2]
#endif
    str     ip, [r3, #CURRENT]
    .endm

/* Loads the function at ip, or numbers uses anew. r0 is its place afterwards, and r3 the state. The eight words
 * on the stack keep it aligned. */
    .macro refer
    push    {r4, ip, lr}
    mov     r0, ip
    bl      fp_overlay_reference
    pop     {r4, ip, lr}
    ldr     r3, =STATE
    ldrsh   r0, [ip]
    .endm

    .macro count, offset
#if FP_OVERLAY_STATISTICS
    ldr     r2, [r3, #\offset]
    adds    r2, #1
    str     r2, [r3, #\offset]
#endif
    .endm

    .section .text.fp_overlay_enter, "ax", %progbits
    .balign 4
    .global fp_overlay_enter
    .type fp_overlay_enter, %function
    .thumb_func
fp_overlay_enter:
    keep_caller 1f
#if FP_OVERLAY_STATISTICS
    cmp     r1, ip                  /* a function that calls itself is not counted */
    beq     2f
#endif
1:  count   CALLS
2:  ldrsh   r0, [ip]
    find    4f
3:  ldr     r1, [r3]
    add     ip, r1, r0, lsl #2
    pop     {r0-r4}
    bx      ip
4:  refer
    b       3b

    .global fp_overlay_gate
    .type fp_overlay_gate, %function
    .thumb_func
fp_overlay_gate:
    keep_caller 5f
5:  ldr     ip, [ip]
    pop     {r0-r4}
    bx      ip

    .global fp_overlay_return
    .type fp_overlay_return, %function
    .thumb_func
fp_overlay_return:
    push    {r0-r4}
    ldr     r3, =STATE
    ldm     r3, {r0-r2}
    ldrd    r4, ip, [r2, #-8]!
    str     r2, [r3, #TOP]
    add     r4, r0
    ldrsh   r0, [ip]
    cmp     r1, ip                  /* a return to the function that ran last is no reference */
    beq     6f
    count   RETURNS
    find    7f
6:  add     ip, r4, r0, lsl #2
    pop     {r0-r4}
    bx      ip
7:  refer
    b       6b

    .thumb_func
fp_overlay_full:
    mov     r0, r1
    sub     sp, #4                  /* five words are on the stack, and C needs it aligned to 8 bytes */
    bl      fp_overlay_too_deep
    .ltorg
    .size fp_overlay_enter, . - fp_overlay_enter

/* Veneers from resident code to slots that are too far for a call: 8 bytes each. */
    .section .text.fp_overlay_veneers, "ax", %progbits
    .balign 4
    .global fp_overlay_veneers
    .type fp_overlay_veneers, %object
fp_overlay_veneers:
    .space 8 * FP_OVERLAY_VENEERS
    .size fp_overlay_veneers, . - fp_overlay_veneers

/* The directory: 8 bytes for each slot, as struct entry of overlay.c. */
    .section .rodata.fp_overlay_directory, "a", %progbits
    .balign 4
    .global fp_overlay_directory
    .type fp_overlay_directory, %object
fp_overlay_directory:
    .space 8 * FP_OVERLAY_SLOTS
    .size fp_overlay_directory, . - fp_overlay_directory

/* The length of the image, and the number that its last 4 bytes must hold. */
    .section .rodata.fp_overlay_image, "a", %progbits
    .balign 4
    .global fp_overlay_image
    .type fp_overlay_image, %object
fp_overlay_image:
    .space 8
    .size fp_overlay_image, . - fp_overlay_image

/* The policy, so that `flashpager overlay` can simulate it. */
    .section .rodata.fp_overlay_policy, "a", %progbits
    .balign 4
    .global fp_overlay_policy
    .type fp_overlay_policy, %object
fp_overlay_policy:
    .word FP_OVERLAY_POLICY
    .size fp_overlay_policy, . - fp_overlay_policy
