/* See mote.h. The link's protocol is in world/platform/Remote.java. */
#include "mote.h"

#include "interpreter.h"
#include "program.h"
#include "program_memory.h"

#ifndef AVR_JOB
#define AVR_JOB(job) ((void)0)
#endif

/* Indices of native methods in NATIVES of specialize.py. */
enum native {
    OBJECT,
    NOW,
    WAIT_FOR_INTERRUPT,
    START_CONVERSION,
    CONVERSION,
    CHANNEL_CLEAR,
    TRANSMIT,
    RECEIVE,
};

static void put_int(int32_t value)
{
    for (uint8_t i = 0; i < 4; i++)
        link_put((uint8_t)((uint32_t)value >> 8 * i));
}

static int32_t get_int(void)
{
    uint32_t value = 0;
    for (uint8_t i = 0; i < 4; i++)
        value |= (uint32_t)link_get() << 8 * i;
    return (int32_t)value;
}

static int32_t transmit(vm_ref array, int32_t length)
{
    uint16_t room;
    const uint8_t *bytes = vm_bytes(array, &room);
    if (length < 0 || length > room || length > 255)
        vm_stop(PROGRAM_TEXT("a frame to send is longer than its array"), 0);
    link_put((uint8_t)length);
    for (uint8_t i = 0; i < (uint8_t)length; i++)
        link_put(bytes[i]);
    return get_int();
}

static int32_t receive(vm_ref array)
{
    uint16_t room;
    uint8_t *bytes = vm_bytes(array, &room);
    const uint8_t length = link_get();
    if (length > room)
        vm_stop(PROGRAM_TEXT("a received frame is longer than its array"), 0);
    for (uint8_t i = 0; i < length; i++)
        bytes[i] = link_get();
    return length;
}

int32_t vm_native(uint8_t number, const int32_t *slots)
{
    int32_t result = 0;
    AVR_JOB(other0);
    if (number != OBJECT)
        link_put(number);
    switch (number) {
    case OBJECT:
        break;
    case WAIT_FOR_INTERRUPT:
        put_int(slots[0]);
        result = get_int();
        break;
    case START_CONVERSION:
        put_int(slots[0]);
        break;
    case TRANSMIT:
        result = transmit((vm_ref)slots[0], slots[1]);
        break;
    case RECEIVE:
        result = receive((vm_ref)slots[0]);
        break;
    default:
        result = get_int();
    }
    AVR_JOB(program);
    return result;
}

void mote_run(uint8_t address)
{
    int32_t arguments[2];
    vm_start();
    arguments[0] = vm_new(CLASS_sensors_Mote);
    arguments[1] = address;
    vm_call(METHOD_sensors_Mote_init_int, arguments, 2);
    arguments[0] = vm_field_ref((vm_ref)arguments[0], FIELD_sensors_Mote_scheduler);
    vm_call(METHOD_sensors_event_Scheduler_run, arguments, 1);
}
