/* The system calls that newlib needs. Output and exit go through the debugger, by semihosting. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>

#define SYS_WRITE0 0x04
#define SYS_EXIT 0x18
#define ADP_STOPPED_RUN_TIME_ERROR 0x20023
#define ADP_STOPPED_APPLICATION_EXIT 0x20026

extern char bss_start[], bss_end[], stack_top[];

int main(void);
_Noreturn void reset(void);
_Noreturn void start(void);
_Noreturn void _exit(int status);

static void semihost(uint32_t operation, uint32_t argument)
{
    register uint32_t r0 __asm__("r0") = operation;
    register uint32_t r1 __asm__("r1") = argument;
#ifdef __thumb__
    __asm__ volatile("svc 0xab" : "+r"(r0) : "r"(r1) : "memory", "lr");
#else
    __asm__ volatile("svc 0x123456" : "+r"(r0) : "r"(r1) : "memory", "lr");
#endif
}

/* The program runs in either mode of the processor: without a pager in supervisor mode, with one in
 * user mode. It begins in the ARM state. */
__attribute__((naked, target("arm"), section(".text.reset"))) _Noreturn void reset(void)
{
    __asm__ volatile("ldr sp, =stack_top\n\t"
                     "ldr pc, =start");
}

__attribute__((used)) _Noreturn void start(void)
{
    for (char *to = bss_start; to < bss_end; to++)
        *to = 0;
    exit(main());
}

_Noreturn void _exit(int status)
{
    for (;;)
        semihost(SYS_EXIT, status ? ADP_STOPPED_RUN_TIME_ERROR : ADP_STOPPED_APPLICATION_EXIT);
}

void *_sbrk(ptrdiff_t more)
{
    static char *end = bss_end;
    char *from = end;
    /* The last megabyte is for the stack. */
    if (more > (stack_top - end) - 0x100000) {
        errno = ENOMEM;
        return (void *)-1;
    }
    end += more;
    return from;
}

int _write(int file, const char *from, int size)
{
    char text[128];
    (void)file;
    for (int at = 0; at < size;) {
        int length = 0;
        while (at < size && length < (int)sizeof(text) - 1)
            text[length++] = from[at++];
        text[length] = 0;
        semihost(SYS_WRITE0, (uint32_t)(uintptr_t)text);
    }
    return size;
}

int _fstat(int file, struct stat *status)
{
    (void)file;
    status->st_mode = S_IFCHR;
    return 0;
}

int _isatty(int file)
{
    (void)file;
    return 1;
}

int _close(int file)
{
    (void)file;
    return 0;
}

int _lseek(int file, int offset, int whence)
{
    (void)file;
    (void)offset;
    (void)whence;
    return 0;
}

int _read(int file, char *to, int size)
{
    (void)file;
    (void)to;
    (void)size;
    return 0;
}

int _getpid(void)
{
    return 1;
}

int _kill(int process, int signal)
{
    (void)process;
    (void)signal;
    errno = EINVAL;
    return -1;
}
