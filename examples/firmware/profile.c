/* Wraps main() and, after it, writes the profile of the run to the .gcda files that GCC reads with
   -fprofile-use. Linked only with PROFILE=write. */
#include <gcov.h>
#include <string.h>

#include "firmware.h"

#define SYS_OPEN 0x01
#define SYS_CLOSE 0x02
#define SYS_WRITE 0x05
/* Semihosting's number of fopen's mode "wb". */
#define MODE_WRITE 5

/* Bounds of the table that -fprofile-info-section collects; the linker script defines them. */
extern const struct gcov_info *const gcov_info_start[], *const gcov_info_end[];

int __real_main(void);
int __wrap_main(void);

static uint32_t file;

static uint32_t semihost(uint32_t operation, const uint32_t *arguments)
{
    register uint32_t r0 __asm__("r0") = operation;
    register const uint32_t *r1 __asm__("r1") = arguments;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static void open_file(const char *name, void *unused)
{
    (void)unused;
    const uint32_t arguments[] = { (uint32_t)(uintptr_t)name, MODE_WRITE, strlen(name) };
    file = semihost(SYS_OPEN, arguments);
}

static void write_file(const void *bytes, unsigned length, void *unused)
{
    (void)unused;
    const uint32_t arguments[] = { file, (uint32_t)(uintptr_t)bytes, length };
    semihost(SYS_WRITE, arguments);
}

int __wrap_main(void)
{
    int result = __real_main();
    for (const struct gcov_info *const *info = gcov_info_start; info < gcov_info_end; info++) {
        __gcov_info_to_gcda(*info, open_file, write_file, NULL, NULL);
        semihost(SYS_CLOSE, &file);
    }
    return result;
}
