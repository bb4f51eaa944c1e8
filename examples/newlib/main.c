/* A program that uses much of the C library: it writes a table of measurements as text, parses it,
 * computes mean and deviation, sorts it and prints it, ROUNDS times. For the Versatile PB. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROWS 24
#define ROUNDS 6

struct row {
    char *name;
    double value;
    time_t when;
};

static unsigned state = 2463534242u;

static unsigned draw(unsigned below)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state % below;
}

static int by_value(const void *a, const void *b)
{
    double x = ((const struct row *)a)->value, y = ((const struct row *)b)->value;
    return (x > y) - (x < y);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct row *)a)->name, ((const struct row *)b)->name);
}

/* Writes a table with random values, in lines "NAME=VALUE@SECONDS". The caller frees it. */
static char *write_table(void)
{
    char *text = malloc(ROWS * 48), *end = text;
    for (unsigned i = 0; i < ROWS; i++) {
        double angle = draw(6283) / 1000.0;
        double value = draw(2) ? exp(angle) * sin(angle) : pow(angle + 1, 1.5) - log(angle + 1);
        end += sprintf(end, "%c%c%02u=%.6g@%lu\n", 'a' + (char)draw(26), 'a' + (char)draw(26), i,
                       value, 1274000000ul + draw(100000000));
    }
    return text;
}

/* Parses such a table, and returns the number of rows. */
static unsigned parse_table(char *text, struct row *rows)
{
    unsigned count = 0;
    for (char *at = strtok(text, "\n"); at && count < ROWS; at = strtok(NULL, "\n")) {
        char name[8];
        unsigned long when;
        if (sscanf(at, "%7[a-z0-9]=%lf@%lu", name, &rows[count].value, &when) != 3)
            continue;
        rows[count].name = strdup(name);
        rows[count].when = (time_t)when;
        count++;
    }
    return count;
}

int main(void)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct row rows[ROWS];
        double sum = 0, squares = 0;
        char *text = write_table();
        unsigned count = parse_table(text, rows);
        for (unsigned i = 0; i < count; i++) {
            sum += rows[i].value;
            squares += rows[i].value * rows[i].value;
        }
        qsort(rows, count, sizeof(rows[0]), round & 1 ? by_name : by_value);
        printf("round %u: %u rows, mean %.4f, deviation %.4f\n", round, count, sum / count,
               sqrt(squares / count - sum / count * (sum / count)));
        for (unsigned i = 0; i < count; i += 5) {
            char when[40];
            strftime(when, sizeof(when), "%a %d %b %Y %H:%M:%S", gmtime(&rows[i].when));
            printf("  %-6s %+12.5f  %s\n", rows[i].name, rows[i].value, when);
        }
        for (unsigned i = 0; i < count; i++)
            free(rows[i].name);
        free(text);
    }
    return 0;
}
