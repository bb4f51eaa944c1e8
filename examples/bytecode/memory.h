/* Where bytecode comes from: through the pager, or, for comparison, from memory that a processor
 * reads in place, as the NOR flash in an AVR. The marks by which a simulator recognizes jobs: `read`
 * takes a byte, `other1` says where to go on or asks where it is. */
#ifndef BYTECODE_MEMORY_H
#define BYTECODE_MEMORY_H

#include <stdint.h>

#include "program_memory.h"

#ifndef AVR_JOB
#define AVR_JOB(job) ((void)0)
#endif

/* Each byte that was read is reported to the counter. */
#ifndef MEMORY_IS_TOLD
#define CODE_TAKEN(byte) ((void)(byte))
#elif defined(__AVR__)
#include "avr_link.h"
#define CODE_TAKEN(byte) (LINK_BYTE = (byte))
#else
void code_taken(uint8_t byte);
#define CODE_TAKEN(byte) code_taken(byte)
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
