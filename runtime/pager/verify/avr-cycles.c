/* Runs a program for an ATmega1284P in simavr until it sleeps for good, and prints its cycles. */
#include <simavr/sim_avr.h>
#include <simavr/sim_elf.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    elf_firmware_t firmware = {0};
    avr_t *avr;
    int state = cpu_Running;
    if (argc != 2 || elf_read_firmware(argv[1], &firmware) != 0)
        return 2;
    avr = avr_make_mcu_by_name("atmega1284p");
    if (!avr)
        return 2;
    avr_init(avr);
    avr->log = LOG_ERROR;
    firmware.frequency = 16000000;
    avr_load_firmware(avr, &firmware);
    while (state != cpu_Done && state != cpu_Crashed)
        state = avr_run(avr);
    printf("cycles %llu\n", (unsigned long long)avr->cycle);
    return state != cpu_Done;
}
