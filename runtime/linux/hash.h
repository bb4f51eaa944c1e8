/* The hash of a page in RAM, of 32 bits. Only the kernel that wrote a hash reads it. The file also
 * compiles outside a kernel, for its test. */
#ifndef FPSWAP_HASH_H
#define FPSWAP_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FPSWAP_HASH_BITS (8u * (unsigned int)sizeof(unsigned long))

/* Arbitrary odd numbers with mixed bits; 32-bit machines use the lower words. */
#define FPSWAP_HASH_ONE ((unsigned long)0x9e3779b97f4a7c15ull)
#define FPSWAP_HASH_TWO ((unsigned long)0xd6e8feb86659fd93ull)

#ifdef __SIZEOF_INT128__
typedef unsigned __int128 fpswap_hash_wide;
#else
typedef uint64_t fpswap_hash_wide;
#endif

/* Returns both halves of the product, exclusive-ored: every bit of both factors affects it. */
static inline unsigned long fpswap_hash_fold(unsigned long one, unsigned long other)
{
    fpswap_hash_wide product = (fpswap_hash_wide)one * other;

    return (unsigned long)product ^ (unsigned long)(product >> FPSWAP_HASH_BITS);
}

static inline unsigned long fpswap_hash_word(const uint8_t *bytes, size_t number)
{
    unsigned long word;

    memcpy(&word, bytes + number * sizeof(word), sizeof(word));
    return word;
}

/* Hashes with one multiplication for two words: half of XXH64's instructions, which were a fifth of
 * the time of reading a page. */
static inline uint32_t fpswap_hash(uint32_t seed, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    unsigned long hash = seed ^ FPSWAP_HASH_TWO;
    unsigned long beside = seed ^ FPSWAP_HASH_ONE;

    for (; size >= 4u * sizeof(hash); size -= 4u * sizeof(hash)) {
        hash = fpswap_hash_fold(hash ^ fpswap_hash_word(bytes, 0),
                                FPSWAP_HASH_ONE ^ fpswap_hash_word(bytes, 1));
        beside = fpswap_hash_fold(beside ^ fpswap_hash_word(bytes, 2),
                                  FPSWAP_HASH_TWO ^ fpswap_hash_word(bytes, 3));
        bytes += 4u * sizeof(hash);
    }
    hash = fpswap_hash_fold(hash ^ FPSWAP_HASH_ONE, beside ^ FPSWAP_HASH_TWO);
    for (; size > 0; size--)
        hash = fpswap_hash_fold(hash ^ *bytes++, FPSWAP_HASH_ONE);
    hash = fpswap_hash_fold(hash ^ FPSWAP_HASH_TWO, FPSWAP_HASH_ONE);
    return (uint32_t)(hash ^ (fpswap_hash_wide)hash >> 32);
}

#endif
