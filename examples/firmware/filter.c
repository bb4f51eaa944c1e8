#include "firmware.h"

#include <string.h>

int16_t low_pass_step(struct low_pass *f, int16_t sample)
{
    f->state += sample - f->state / 8;
    return (int16_t)(f->state / 8);
}

static void insert_sorted(int16_t *sorted, unsigned count, int16_t value)
{
    while (count > 0 && sorted[count - 1] > value) {
        sorted[count] = sorted[count - 1];
        count--;
    }
    sorted[count] = value;
}

int16_t median5_step(struct median5 *f, int16_t sample)
{
    int16_t sorted[5];
    f->window[f->at] = sample;
    f->at = (uint8_t)((f->at + 1) % 5);
    for (unsigned i = 0; i < 5; i++)
        insert_sorted(sorted, i, f->window[i]);
    return sorted[2];
}

int16_t fir8_step(struct fir8 *f, int16_t sample)
{
    static const int16_t taps[8] = { 512, 2048, 5120, 8704, 8704, 5120, 2048, 512 };
    int32_t sum = 0;
    f->window[f->at] = sample;
    for (unsigned i = 0; i < 8; i++)
        sum += taps[i] * f->window[(f->at + 8 - i) % 8];
    f->at = (uint8_t)((f->at + 1) % 8);
    return (int16_t)(sum / 32768);
}

/* Butterworth low pass at a tenth of the sampling rate, Q14. */
int16_t biquad_step(struct biquad *f, int16_t sample)
{
    int32_t y = (1105 * sample + 2210 * f->x1 + 1105 * f->x2 + 18727 * f->y1 - 6763 * f->y2) / 16384;
    f->x2 = f->x1;
    f->x1 = sample;
    f->y2 = f->y1;
    f->y1 = y;
    return (int16_t)y;
}

void statistics_reset(struct statistics *s)
{
    memset(s, 0, sizeof *s);
    s->minimum = INT16_MAX;
    s->maximum = INT16_MIN;
}

void statistics_add(struct statistics *s, int16_t sample)
{
    if (sample < s->minimum)
        s->minimum = sample;
    if (sample > s->maximum)
        s->maximum = sample;
    s->sum += sample;
    s->squares += (uint32_t)(sample * sample) >> 6;
    s->count++;
}

uint16_t square_root(uint32_t value)
{
    uint32_t root = 0;
    for (uint32_t bit = 1u << 30; bit != 0; bit >>= 2) {
        if (value >= root + bit) {
            value -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
    }
    return (uint16_t)root;
}

uint16_t statistics_rms(const struct statistics *s)
{
    return s->count == 0 ? 0 : (uint16_t)(square_root(s->squares / s->count) << 3);
}
