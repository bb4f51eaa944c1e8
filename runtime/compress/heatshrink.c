#include "heatshrink.h"

/* The name of the format, like hs8-4: bits of the window and of the lookahead. */
#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)
#define NAME "hs" TEXT(HEATSHRINK_STATIC_WINDOW_BITS) "-" TEXT(HEATSHRINK_STATIC_LOOKAHEAD_BITS)

static uint32_t compress(void *context, const uint8_t *page, uint32_t page_bytes, uint8_t *out,
                         uint32_t capacity)
{
    heatshrink_encoder *encoder = &((struct fp_heatshrink *)context)->state.encoder;
    uint32_t taken = 0;
    uint32_t size = 0;

    heatshrink_encoder_reset(encoder);
    for (;;) {
        size_t count = 0;
        HSE_poll_res polled;

        /* heatshrink does not write to its input, though its parameter is not const. */
        if (heatshrink_encoder_sink(encoder, (uint8_t *)(uintptr_t)(page + taken),
                                    page_bytes - taken, &count) != HSER_SINK_OK) {
            return 0;
        }
        taken += (uint32_t)count;
        if (taken == page_bytes) {
            (void)heatshrink_encoder_finish(encoder); /* which returns that there is more */
        }
        do {
            if (size == capacity) {
                return 0;
            }
            polled = heatshrink_encoder_poll(encoder, out + size, capacity - size, &count);
            size += (uint32_t)count;
        } while (polled == HSER_POLL_MORE);
        if (polled != HSER_POLL_EMPTY) {
            return 0;
        }
        if (taken == page_bytes && heatshrink_encoder_finish(encoder) == HSER_FINISH_DONE) {
            return size;
        }
    }
}

static int decompress(void *context, const uint8_t *data, uint32_t size, uint8_t *page,
                      uint32_t page_bytes)
{
    heatshrink_decoder *decoder = &((struct fp_heatshrink *)context)->state.decoder;
    uint32_t taken = 0;
    uint32_t filled = 0;
    size_t count = 0;

    heatshrink_decoder_reset(decoder);
    while (taken < size) {
        HSD_sink_res sunk = heatshrink_decoder_sink(decoder, (uint8_t *)(uintptr_t)(data + taken),
                                                    size - taken, &count);
        HSD_poll_res polled;

        if (sunk < 0) {
            return -1;
        }
        taken += (uint32_t)count;
        polled = heatshrink_decoder_poll(decoder, page + filled, page_bytes - filled, &count);
        filled += (uint32_t)count;
        if (polled == HSDR_POLL_MORE) {
            /* The page is full: more data than the bits that fill up the last byte is wrong. */
            return taken == size && heatshrink_decoder_finish(decoder) == HSDR_FINISH_DONE ? 0
                                                                                           : -1;
        }
        if (polled != HSDR_POLL_EMPTY) {
            return -1;
        }
    }
    return -1;
}

void fp_heatshrink_init(struct fp_heatshrink *heatshrink)
{
    heatshrink->compressor.context = heatshrink;
    heatshrink->compressor.compress = compress;
    heatshrink->compressor.decompress = decompress;
    heatshrink->compressor.name = NAME;
}
