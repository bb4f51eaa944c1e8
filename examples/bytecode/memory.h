/*
 * The source of the bytecode: the pager or, for comparison, memory that the processor reads in place,
 * as the NOR flash in an AVR
 *
 * AVR_JOB() marks the jobs that a simulator counts the cycles of: `read` fetches a byte of bytecode,
 * `other1` sets or gets the position.
 */
#ifndef BYTECODE_MEMORY_H
#define BYTECODE_MEMORY_H

#include <stdint.h>

#include "program_memory.h"

#ifndef AVR_JOB
#define AVR_JOB(job) ((void)0)
#endif

/* Reports a byte of bytecode that was executed, if CODE_BYTES_REPORTED is defined. */
#ifndef CODE_BYTES_REPORTED
#define REPORT_CODE_BYTE(byte) ((void)(byte))
#elif defined(__AVR__)
#include "avr_link.h"
#define REPORT_CODE_BYTE(byte) (LINK_BYTE = (byte))
#else
void report_code_byte(uint8_t byte);
#define REPORT_CODE_BYTE(byte) report_code_byte(byte)
#endif

#ifdef MEMORY_IN_PLACE
#include "image.h" /* PROGRAM_MEMORY, too */

static uint16_t code_at;

static inline int code_byte(void)
{
    return PROGRAM_BYTE(image[code_at++]);
}

static inline void code_jump(uint16_t to)
{
    AVR_JOB(other1);
    code_at = to;
    AVR_JOB(program);
}

static inline uint16_t code_tell(void)
{
    return code_at;
}
#else
#include "flashpager_pager.h"

static struct fp_cursor code;

static inline int code_byte(void)
{
    return fp_cursor_byte(&code);
}

static inline void code_jump(uint16_t to)
{
    AVR_JOB(other1);
    fp_cursor_jump(&code, to);
    AVR_JOB(program);
}

static inline uint16_t code_tell(void)
{
    AVR_JOB(other1);
    const uint16_t at = (uint16_t)fp_cursor_tell(&code);
    AVR_JOB(program);
    return at;
}
#endif

#endif
