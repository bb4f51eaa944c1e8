/* Constructs that code of real programs has, each of which must give the same when its functions are paged. */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "board.h"

#define APART __attribute__((noinline, noclone))
#define PINNED __attribute__((noinline, section(".pinned.text")))
#ifdef __clang__
#undef APART
#define APART __attribute__((noinline))
#endif

static uint32_t digest = 2166136261u;

APART void mix(uint32_t value)
{
    digest = (digest ^ value) * 16777619u;
    digest ^= digest >> 15;
}

/* Function pointers, and their comparison. */
typedef uint32_t (*unary)(uint32_t);
APART uint32_t twice(uint32_t x) { mix(x); return 2 * x; }
APART uint32_t square(uint32_t x) { mix(x + 1); return x * x; }
static APART uint32_t hidden(uint32_t x) { mix(x + 2); return x ^ 0x55; }
static const unary table[] = { twice, square, hidden };
unary volatile chosen = square;
APART uint32_t pointers(void)
{
    uint32_t sum = 0;
    for (unsigned i = 0; i < 3; i++)
        sum += table[i](i + 3);
    unary local = hidden;
    return sum + (chosen == square) + 2 * (chosen == table[1]) + 4 * (table[2] == local) + chosen(7);
}

/* Callbacks from code that stays in RAM, which comes back to paged code. */
PINNED void sort(uint32_t *words, unsigned count, bool (*before)(uint32_t, uint32_t))
{
    for (unsigned i = 1; i < count; i++)
        for (unsigned j = i; j > 0 && before(words[j], words[j - 1]); j--) {
            uint32_t kept = words[j];
            words[j] = words[j - 1];
            words[j - 1] = kept;
        }
}
APART bool below(uint32_t a, uint32_t b) { mix(a ^ b); return a < b; }
APART bool above(uint32_t a, uint32_t b) { return below(b, a); }
APART uint32_t callbacks(void)
{
    uint32_t words[6] = { 5, 2, 9, 1, 7, 3 };
    sort(words, 6, below);
    mix(words[0] * 10 + words[5]);
    sort(words, 6, above);
    return words[0] * 100 + words[1];
}

/* Arguments on the stack, and of 64 bits. */
APART uint64_t many(uint32_t a, uint64_t b, uint32_t c, uint64_t d, uint32_t e, uint16_t f, int8_t g)
{
    mix(c + e);
    return a + b * c + d / e + f + (uint64_t)(int64_t)g;
}

/* A variable number of arguments. */
APART uint32_t total(unsigned count, ...)
{
    va_list list;
    uint32_t sum = 0;
    va_start(list, count);
    while (count--)
        sum += square(va_arg(list, uint32_t));
    va_end(list);
    return sum;
}

/* Results in memory and in registers. */
struct pair { uint32_t a, b; };
struct large { uint32_t words[9]; };
APART struct pair two(uint32_t x) { return (struct pair){ twice(x), square(x) }; }
APART struct large nine(uint32_t x)
{
    struct large result;
    for (unsigned i = 0; i < 9; i++)
        result.words[i] = square(x + i);
    return result;
}

/* A stack frame whose size is not known when it is compiled. */
APART uint32_t varying(unsigned count)
{
    uint32_t *words = __builtin_alloca(4 * count);
    for (unsigned i = 0; i < count; i++)
        words[i] = twice(i);
    uint32_t sum = 0;
    for (unsigned i = 0; i < count; i++)
        sum += words[i];
    return sum;
}

/* Arithmetic by the compiler's library. */
APART float heavy(float x) { mix((uint32_t)x); return x * 1.25f + 0.5f; }
APART double root(double x)
{
    double guess = x / 2;
    for (unsigned i = 0; i < 6; i++)
        guess = (guess + x / guess) / 2 + (double)heavy(0.0f) - 0.5;
    return guess;
}

/* Recursion: of a function by itself, and of two. */
static APART uint32_t fibonacci(uint32_t n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2) + (n == 5 ? square(n) : 0);
}
APART uint32_t odd(uint32_t n);
APART uint32_t even(uint32_t n) { mix(n); return n == 0 ? 1 : 1 + odd(n - 1); }
APART uint32_t odd(uint32_t n) { mix(n); return n == 0 ? 0 : 2 + even(n - 1); }
APART uint32_t ackermann(uint32_t m, uint32_t n)
{
    if (m == 0)
        return n + 1;
    return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

/* Calls in the place of a return. */
APART uint32_t last(uint32_t x) { return square(x) + 1; }
APART uint32_t before_last(uint32_t x) { mix(x); return last(x + 1); }
APART uint32_t by_pointer(unary function, uint32_t x) { mix(x); return function(x); }

/* Choices by tables. */
APART uint32_t choice(uint32_t x)
{
    switch (x) {
    case 0: return twice(3);
    case 1: return square(4);
    case 2: return 77;
    case 3: return last(2);
    case 4: return hidden(9);
    case 5: return before_last(1);
    case 6: return 12;
    case 7: return choice(2) + 5;
    default: return 1;
    }
}

/* A shared state machine: pointers to functions in data that change. */
struct machine { struct machine *(*step)(struct machine *); uint32_t left; };
APART struct machine *idle(struct machine *it);
APART struct machine *busy(struct machine *it)
{
    mix(it->left);
    it->step = idle;
    return it->left-- ? it : NULL;
}
APART struct machine *idle(struct machine *it)
{
    it->step = busy;
    return it;
}

APART void number(uint32_t value)
{
    char text[12];
    char *at = text + 11;
    *at = 0;
    do {
        *--at = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    put_text(at);
    put_text("\n");
}

int main(void)
{
    for (unsigned round = 0; round < 3; round++) {
        mix(pointers());
        mix(callbacks());
        mix((uint32_t)many(round, 0x100000007ull, 3, 0xabcdef0123ull, 5, 65535, -3));
        mix(total(7, 1, 2, 3, 4, 5, 6, 7));
        mix(two(round).b + two(round + 1).a);
        mix(nine(round).words[8]);
        mix(varying(5 + 3 * round));
        mix((uint32_t)(1000 * root(2.0 + round)));
        mix(fibonacci(9));
        mix(even(7) + odd(6));
        mix(ackermann(2, 2));
        mix(before_last(round) + by_pointer(last, 4) + by_pointer(hidden, 2));
        for (unsigned i = 0; i < 9; i++)
            mix(choice(i));
        struct machine machine = { idle, 4 }, *at = &machine;
        while (at)
            at = at->step(at);
        number(digest);
    }
    return 0;
}
