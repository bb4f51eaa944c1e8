#include "firmware.h"

#include <string.h>

/* A frame has kind, sequence number, length, encrypted payload and CRC-16. It is sent between flags,
 * with flag and escape bytes stuffed as in HDLC. It is repeated at most RETRIES times, until the
 * receiver, which this file simulates, acknowledges it. */

#define PAYLOAD_MAX 48
#define FRAME_MAX (3 + PAYLOAD_MAX + 2)
#define STUFFED_MAX (2 * FRAME_MAX + 2)
#define QUEUE 8
#define RETRIES 4
#define FLAG 0x7e
#define ESCAPE 0x7d

struct radio_counters radio_counters;
uint16_t radio_digest;

static struct packet {
    uint8_t kind, length, tries;
    uint8_t payload[PAYLOAD_MAX];
} queue[QUEUE];
static unsigned queue_head, queue_used;
static uint8_t sequence;
static struct aes128 aes;
static uint32_t medium_state;

static struct {
    uint8_t frame[FRAME_MAX];
    size_t used;
    bool escaped, inside;
    int16_t last_sequence;
} receiver;

void radio_init(void)
{
    static const uint8_t key[AES_BLOCK] = "radio key 000001";
    aes128_init(&aes, key);
    memset(&radio_counters, 0, sizeof radio_counters);
    memset(&receiver, 0, sizeof receiver);
    receiver.last_sequence = -1;
    medium_state = 0x74b0dc51;
    radio_digest = 0xffff;
    queue_head = queue_used = 0;
    sequence = 0;
}

bool radio_send(uint8_t kind, const uint8_t *payload, size_t length)
{
    if (queue_used == QUEUE || length > PAYLOAD_MAX) {
        radio_counters.dropped++;
        return false;
    }
    struct packet *packet = &queue[(queue_head + queue_used++) % QUEUE];
    packet->kind = kind;
    packet->length = (uint8_t)length;
    packet->tries = 0;
    memcpy(packet->payload, payload, length);
    return true;
}

static size_t build_frame(const struct packet *packet, uint8_t frame[FRAME_MAX])
{
    size_t length = 3u + packet->length;
    frame[0] = packet->kind;
    frame[1] = sequence;
    frame[2] = packet->length;
    memcpy(frame + 3, packet->payload, packet->length);
    aes128_ctr(&aes, sequence, frame + 3, packet->length);
    put16(frame + length, crc16_ccitt(0xffff, frame, length));
    return length + 2;
}

static uint8_t *put_stuffed(uint8_t *p, uint8_t byte)
{
    if (byte == FLAG || byte == ESCAPE) {
        *p++ = ESCAPE;
        byte ^= 0x20;
    }
    *p++ = byte;
    return p;
}

static size_t stuff(const uint8_t *frame, size_t length, uint8_t out[STUFFED_MAX])
{
    uint8_t *p = out;
    *p++ = FLAG;
    for (size_t i = 0; i < length; i++)
        p = put_stuffed(p, frame[i]);
    *p++ = FLAG;
    return (size_t)(p - out);
}

/* The simulated medium damages one bit of every eighth frame, on average. */
static void disturb(uint8_t *bytes, size_t length)
{
    uint32_t dice = random_next(&medium_state);
    if (dice % 8 == 0)
        bytes[(dice >> 8) % length] ^= (uint8_t)(1u << (dice >> 3) % 8);
}

static void deliver(uint8_t *frame)
{
    if (frame[1] == receiver.last_sequence)
        return; /* a repeated frame, because its acknowledgement was lost */
    receiver.last_sequence = frame[1];
    aes128_ctr(&aes, frame[1], frame + 3, frame[2]);
    radio_digest = crc16_ccitt(radio_digest, frame, 3u + frame[2]);
    radio_counters.received++;
}

static bool frame_valid(const uint8_t *frame, size_t length)
{
    return length >= 5 && frame[2] == length - 5 &&
           crc16_ccitt(0xffff, frame, length - 2) == get16(frame + length - 2);
}

static bool frame_ends(void)
{
    size_t length = receiver.used;
    receiver.used = 0;
    receiver.escaped = false;
    if (length == 0)
        return false;
    if (!frame_valid(receiver.frame, length)) {
        radio_counters.bad++;
        return false;
    }
    deliver(receiver.frame);
    return true;
}

/* Returns true if this byte completes a valid frame. */
static bool receive_byte(uint8_t byte)
{
    if (byte == FLAG) {
        receiver.inside = true;
        return frame_ends();
    }
    if (!receiver.inside)
        return false;
    if (byte == ESCAPE) {
        receiver.escaped = true;
        return false;
    }
    if (receiver.used == FRAME_MAX) {
        receiver.inside = false;
        receiver.used = 0;
        return false;
    }
    receiver.frame[receiver.used++] = receiver.escaped ? byte ^ 0x20 : byte;
    receiver.escaped = false;
    return false;
}

static bool transmit(const uint8_t *bytes, size_t length)
{
    bool good = false;
    for (size_t i = 0; i < length; i++)
        good |= receive_byte(bytes[i]);
    return good && random_next(&medium_state) % 16 != 0; /* one acknowledgement in 16 is lost */
}

static void packet_done(void)
{
    queue_head = (queue_head + 1) % QUEUE;
    queue_used--;
    sequence++;
}

void radio_poll(uint32_t now)
{
    uint8_t frame[FRAME_MAX], line[STUFFED_MAX];
    (void)now;
    if (queue_used == 0)
        return;
    struct packet *packet = &queue[queue_head];
    size_t length = stuff(frame, build_frame(packet, frame), line);
    disturb(line, length);
    radio_counters.sent++;
    if (transmit(line, length)) {
        packet_done();
    } else if (++packet->tries > RETRIES) {
        radio_counters.lost++;
        packet_done();
    } else {
        radio_counters.retried++;
    }
}
