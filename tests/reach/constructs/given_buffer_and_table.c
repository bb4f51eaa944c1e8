// A checksum over a given buffer by a table of its own: the pointer is in RAM, the table may not be.
#include "case.h"

EITHER_CONST const unsigned nibbles[16] = {0, 7, 14, 9, 28, 27, 18, 21, 56, 63, 54, 49, 36, 35, 42, 45};
byte buffer[64] = {1, 2, 3};
__attribute__((section(".ram.text"), noinline)) int root(const byte *data, int count)
{
    unsigned sum = 0;
    while (count-- > 0) {
        sum = sum >> 4 ^ nibbles[(sum ^ *data) & 15];
        sum = sum >> 4 ^ nibbles[(sum ^ *data++ >> 4) & 15];
    }
    return (int)sum;
}
RAM void run(int x) { case_result = root(buffer, x); }
INPUTS_OF_RUN(0, 3, 40)
