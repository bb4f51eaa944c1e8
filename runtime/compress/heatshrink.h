/* heatshrink: a compressor that fits a small microcontroller. */
#ifndef FLASHPAGER_HEATSHRINK_H
#define FLASHPAGER_HEATSHRINK_H

#include "flashpager_compressor.h"
#include "../third_party/heatshrink/heatshrink_decoder.h"
#include "../third_party/heatshrink/heatshrink_encoder.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A page is either compressed or decompressed at a time, so both share their memory. */
struct fp_heatshrink {
    struct fp_compressor compressor; /* for the config */
    union {
        heatshrink_encoder encoder;
        heatshrink_decoder decoder;
    } state;
};

/* Bytes of RAM: about 1.6 KB with 8 bits of window and the index, 0.6 KB without. See
 * ../third_party/heatshrink/heatshrink_config.h. */
#define FP_HEATSHRINK_BYTES sizeof(struct fp_heatshrink)

void fp_heatshrink_init(struct fp_heatshrink *heatshrink);

#ifdef __cplusplus
}
#endif

#endif
