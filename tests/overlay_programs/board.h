/* The board of the programs that are paged in tests. */
#ifndef BOARD_H
#define BOARD_H
#ifndef TICK_CYCLES
#define TICK_CYCLES 0
#endif

void put_text(const char *text);
_Noreturn void stop(int failed);
#endif
