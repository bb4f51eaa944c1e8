/* Compresses bzip2's own samples with its library, decompresses the compressed samples that come with
 * it, and compares both results with the samples. For the Versatile PB. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bzlib.h"

#define SAMPLE(number)                                                                           \
    __asm__(".section .rodata\n"                                                                 \
            "plain" #number ": .incbin \"sample" #number ".ref\"\n"                              \
            "plain" #number "_end:\n"                                                            \
            "packed" #number ": .incbin \"sample" #number ".bz2\"\n"                             \
            "packed" #number "_end:\n"                                                           \
            ".text");                                                                            \
    extern char plain##number[], plain##number##_end[], packed##number[], packed##number##_end[]

SAMPLE(1);
SAMPLE(3);

static unsigned failed;

static void compare(const char *title, int error, const char *result, unsigned result_bytes,
                    const char *expected, unsigned expected_bytes)
{
    const int is_right = error == BZ_OK && result_bytes == expected_bytes &&
                         !memcmp(result, expected, expected_bytes);
    printf("  %s: %u bytes, %s\n", title, result_bytes, is_right ? "right" : "WRONG");
    failed += !is_right;
}

static void test_sample(int level, char *plain, const char *plain_end, char *packed,
                        const char *packed_end)
{
    const unsigned plain_bytes = (unsigned)(plain_end - plain);
    const unsigned packed_bytes = (unsigned)(packed_end - packed);
    unsigned bytes = plain_bytes + plain_bytes / 100 + 600;
    char *output = malloc(bytes);
    int error;
    if (!output) {
        puts("no memory");
        exit(1);
    }
    printf("%u bytes, level %d, %.3f bits a byte\n", plain_bytes, level,
           8.0 * packed_bytes / plain_bytes);
    error = BZ2_bzBuffToBuffCompress(output, &bytes, plain, plain_bytes, level, 0, 0);
    compare("compressed", error, output, bytes, packed, packed_bytes);
    bytes = plain_bytes;
    error = BZ2_bzBuffToBuffDecompress(output, &bytes, packed, packed_bytes, 0, 0);
    compare("decompressed", error, output, bytes, plain, plain_bytes);
    free(output);
}

int main(void)
{
    printf("bzip2 %s\n", BZ2_bzlibVersion());
    test_sample(1, plain1, plain1_end, packed1, packed1_end);
    test_sample(3, plain3, plain3_end, packed3, packed3_end);
    return failed != 0;
}
