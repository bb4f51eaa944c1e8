#include "firmware.h"

/* Three simulated sensors. Each has its own shape of signal, with noise, its
 * own filter, and its own kind of packet. */

static uint32_t noise_state;
static struct low_pass temperature_filter;
static struct median5 light_filter;
static struct fir8 motion_smooth;
static struct biquad motion_slow;
static struct statistics temperature_stats, light_stats, motion_stats;

static struct {
    uint8_t bytes[24];
    uint8_t used;
} motion_packet;

void sensors_init(void)
{
    noise_state = 0x9e3779b9;
    statistics_reset(&temperature_stats);
    statistics_reset(&light_stats);
    statistics_reset(&motion_stats);
}

static int16_t noise(int32_t amplitude)
{
    return (int16_t)((int32_t)(random_next(&noise_state) % (uint32_t)(2 * amplitude + 1)) - amplitude);
}

static int16_t triangle(uint32_t now, uint32_t period, int32_t amplitude)
{
    int32_t at = (int32_t)(now % period);
    int32_t half = (int32_t)(period / 2);
    int32_t distance = at < half ? at : (int32_t)period - at;
    return (int16_t)(2 * amplitude * distance / half - amplitude);
}

static void send_sample(uint8_t kind, uint32_t now, int16_t value)
{
    uint8_t packet[6];
    put32(packet, now);
    put16(packet + 4, (uint16_t)value);
    radio_send(kind, packet, sizeof packet);
}

void sample_temperature(uint32_t now)
{
    static int16_t last_sent;
    int16_t raw = (int16_t)(2100 + triangle(now, 2000, 400) + noise(30));
    int16_t value = low_pass_step(&temperature_filter, raw);
    statistics_add(&temperature_stats, value);
    if (value - last_sent > 20 || last_sent - value > 20) {
        last_sent = value;
        send_sample('T', now, value);
    }
}

void sample_light(uint32_t now)
{
    static bool bright;
    int16_t raw = (int16_t)(triangle(now, 700, 900) + 1000 + noise(50));
    if (random_next(&noise_state) % 32 == 0)
        raw = 4095; /* a flash of light, which the median removes */
    int16_t value = median5_step(&light_filter, raw);
    statistics_add(&light_stats, value);
    if (bright ? value < 900 : value > 1100) {
        bright = !bright;
        send_sample('L', now, value);
    }
}

void sample_motion(uint32_t now)
{
    int16_t raw = (int16_t)(triangle(now, 60, 1000) + noise(300));
    int16_t smooth = fir8_step(&motion_smooth, raw);
    int16_t slow = biquad_step(&motion_slow, raw);
    statistics_add(&motion_stats, (int16_t)(smooth - slow));
    put16(motion_packet.bytes + motion_packet.used, (uint16_t)smooth);
    motion_packet.used += 2;
    if (motion_packet.used == sizeof motion_packet.bytes) {
        radio_send('M', motion_packet.bytes, motion_packet.used);
        motion_packet.used = 0;
    }
}

static uint8_t *put_statistics(uint8_t *p, uint32_t tag, struct statistics *s)
{
    uint8_t body[8];
    put16(body, (uint16_t)s->minimum);
    put16(body + 2, (uint16_t)s->maximum);
    put16(body + 4, (uint16_t)(s->count != 0 ? s->sum / (int32_t)s->count : 0));
    put16(body + 6, statistics_rms(s));
    statistics_reset(s);
    return tlv_put(p, tag, body, sizeof body);
}

void report_statistics(uint32_t now)
{
    uint8_t packet[40];
    (void)now;
    uint8_t *end = put_statistics(packet, 0x81, &temperature_stats);
    end = put_statistics(end, 0x82, &light_stats);
    end = put_statistics(end, 0x83, &motion_stats);
    radio_send('S', packet, (size_t)(end - packet));
}
