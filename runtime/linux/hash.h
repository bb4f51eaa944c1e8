/* The check of a page in RAM: 32 bits, which nobody reads but who wrote them. Compiles outside a
 * kernel, too: its test does that. */
#ifndef FPSWAP_HASH_H
#define FPSWAP_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FPSWAP_HASH_LANES 4u
#define FPSWAP_HASH_BITS (8u * (unsigned int)sizeof(unsigned long))
#define FPSWAP_HASH_FACTOR \
    (sizeof(unsigned long) == 8 ? (unsigned long)0x9e3779b97f4a7c15u : (unsigned long)0x9e3779b1u)

static inline unsigned long fpswap_hash_word(const uint8_t *bytes)
{
    unsigned long word;

    memcpy(&word, bytes, sizeof(word));
    return word;
}

/* Each step is one to one, in what was before and in the word: no single change of a word is lost.
 * Turned, a change of the highest bits meets the factor's lowest ones, and spreads. */
static inline unsigned long fpswap_hash_step(unsigned long hash, unsigned long word)
{
    hash ^= word;
    hash = hash << 13 | hash >> (FPSWAP_HASH_BITS - 13u);
    return hash * FPSWAP_HASH_FACTOR;
}

/* Three instructions a word. XXH64 takes seven, which was a fifth of a page's way in. */
static inline uint32_t fpswap_hash(uint32_t seed, const void *data, size_t size)
{
    unsigned long lanes[FPSWAP_HASH_LANES] = {seed, seed + 1u, seed + 2u, seed + 3u};
    const uint8_t *bytes = data;
    unsigned long hash;

    for (; size >= sizeof(lanes); size -= sizeof(lanes)) {
        lanes[0] = fpswap_hash_step(lanes[0], fpswap_hash_word(bytes));
        lanes[1] = fpswap_hash_step(lanes[1], fpswap_hash_word(bytes + sizeof(lanes[0])));
        lanes[2] = fpswap_hash_step(lanes[2], fpswap_hash_word(bytes + 2 * sizeof(lanes[0])));
        lanes[3] = fpswap_hash_step(lanes[3], fpswap_hash_word(bytes + 3 * sizeof(lanes[0])));
        bytes += sizeof(lanes);
    }
    hash = lanes[0];
    hash = fpswap_hash_step(hash, lanes[1]);
    hash = fpswap_hash_step(hash, lanes[2]);
    hash = fpswap_hash_step(hash, lanes[3]);
    for (; size > 0; size--)
        hash = fpswap_hash_step(hash, *bytes++);
    hash = (hash ^ hash >> FPSWAP_HASH_BITS / 2) * FPSWAP_HASH_FACTOR;
    return (uint32_t)(hash ^ hash >> FPSWAP_HASH_BITS / 2);
}

#endif
