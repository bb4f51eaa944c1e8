#ifndef FLASHPAGER_TEST_FUZZ_MOUNT_H
#define FLASHPAGER_TEST_FUZZ_MOUNT_H

#include <stddef.h>
#include <stdint.h>

#define FUZZ_PROGRAM_BYTES 256u
#define FUZZ_BLOCK_BYTES 1536u
#define FUZZ_BLOCKS 14u
#define FUZZ_PAGE_BYTES 64u
#define FUZZ_SLOTS 40u

/* Flags in the first byte of an input. */
#define FUZZ_WEAK_CRC 1u /* the CRC is always 0, so that it shows no damage */
#define FUZZ_RAW 2u
#define FUZZ_BAD 4u      /* the block in the upper four bits is bad */

uint32_t fuzz_weak_crc(uint32_t crc, const void *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
