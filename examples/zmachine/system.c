/* The system calls that newlib needs, on an LM3S6965. Console and files are those of the debugger, by
 * semihosting. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#define SYS_OPEN 0x01
#define SYS_CLOSE 0x02
#define SYS_WRITE 0x05
#define SYS_READ 0x06
#define SYS_SEEK 0x0a
#define SYS_EXIT 0x18
#define ADP_STOPPED_RUN_TIME_ERROR 0x20023
#define ADP_STOPPED_APPLICATION_EXIT 0x20026
/* Modes of SYS_OPEN, which number those of fopen(): "r", "rb", "w", "wb". */
#define MODE_R 0
#define MODE_RB 1
#define MODE_W 4
#define MODE_WB 5

/* Bytes of RAM reserved for the stack. */
#define STACK_BYTES 6144
/* Number of the first file that a program opens, after standard input, output and error. */
#define FIRST_FILE 3

extern uint32_t data_start[], data_end[], bss_start[], bss_end[], stack_top[];
extern const uint32_t data_load[];

int main(int argc, char *argv[]);
_Noreturn void reset(void);
_Noreturn void fault(void);
_Noreturn void _exit(int status);

static int32_t console[2];

static int32_t semihost(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return (int32_t)r0;
}

static int32_t open_file(const char *name, uint32_t mode)
{
    const uint32_t block[3] = {(uint32_t)(uintptr_t)name, mode, strlen(name)};
    return semihost(SYS_OPEN, block);
}

_Noreturn void reset(void)
{
    static char *arguments[] = {"jzip", "library.z5", NULL};
    const uint32_t *from = data_load;
    for (uint32_t *to = data_start; to < data_end; to++)
        *to = *from++;
    for (uint32_t *to = bss_start; to < bss_end; to++)
        *to = 0;
    console[0] = open_file(":tt", MODE_R);
    console[1] = open_file(":tt", MODE_W);
    exit(main(2, arguments));
}

_Noreturn void _exit(int status)
{
    const uintptr_t reason = status ? ADP_STOPPED_RUN_TIME_ERROR : ADP_STOPPED_APPLICATION_EXIT;
    for (;;)
        semihost(SYS_EXIT, (const void *)reason);
}

_Noreturn void fault(void)
{
    static const char text[] = "a fault of the processor\n";
    write(STDERR_FILENO, text, sizeof(text) - 1);
    _exit(EXIT_FAILURE);
}

/* The vector table: stack pointer and 15 system exceptions. No interrupt is enabled. */
struct vectors {
    uint32_t *stack;
    void (*handlers[15])(void);
};

__attribute__((section(".vectors"), used)) static const struct vectors vectors = {
    stack_top,
    {reset, fault, fault, fault, fault, fault, 0, 0, 0, 0, fault, fault, 0, fault, fault},
};

void *_sbrk(ptrdiff_t more)
{
    static char *end = (char *)bss_end;
    char *from = end;
    if (more > (char *)stack_top - end - STACK_BYTES) {
        errno = ENOMEM;
        return (void *)-1;
    }
    end += more;
    return from;
}

static uint32_t handle(int file)
{
    return (uint32_t)(file < FIRST_FILE ? console[file != 0] : file - FIRST_FILE);
}

int _open(const char *name, int flags, ...)
{
    const int32_t file = open_file(name, (flags & O_ACCMODE) == O_RDONLY ? MODE_RB : MODE_WB);
    if (file < 0) {
        errno = ENOENT;
        return -1;
    }
    return file + FIRST_FILE;
}

int _close(int file)
{
    const uint32_t block[1] = {handle(file)};
    return semihost(SYS_CLOSE, block);
}

/* SYS_READ and SYS_WRITE return the number of bytes that were not read or written. */
int _read(int file, char *to, int size)
{
    const uint32_t block[3] = {handle(file), (uint32_t)(uintptr_t)to, (uint32_t)size};
    return size - semihost(SYS_READ, block);
}

int _write(int file, const char *from, int size)
{
    const uint32_t block[3] = {handle(file), (uint32_t)(uintptr_t)from, (uint32_t)size};
    return size - semihost(SYS_WRITE, block);
}

int _lseek(int file, int offset, int whence)
{
    const uint32_t block[2] = {handle(file), (uint32_t)offset};
    if (whence != SEEK_SET || file < FIRST_FILE || semihost(SYS_SEEK, block)) {
        errno = ESPIPE;
        return -1;
    }
    return offset;
}

int _fstat(int file, struct stat *status)
{
    status->st_mode = file < FIRST_FILE ? S_IFCHR : S_IFREG;
    return 0;
}

int _isatty(int file)
{
    return file < FIRST_FILE;
}

/* There is no clock, so that every run of jzip is the same. */
int _gettimeofday(struct timeval *to, void *zone)
{
    (void)zone;
    *to = (struct timeval){0};
    return 0;
}

int _unlink(const char *name)
{
    (void)name;
    errno = EACCES;
    return -1;
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
