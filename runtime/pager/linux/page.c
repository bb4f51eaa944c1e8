/*
 * A program's own code, or that of one of its libraries, behind userfaultfd
 *
 * The pager runs in the program's process and in its only thread: a fault of the code is a SIGBUS, and
 * the handler of that signal, which is not in paged memory, is the pager.
 *
 * Two accesses are no references, as a trace of code does not have them:
 *   - A read of code as data. The page is lent for that instruction, which runs as a single step.
 *   - A second fetch by one instruction. If an instruction lies across the end of a page, the fault of
 *     its second page may evict its first one, which is then lent for the instruction, too.
 *
 * SIGBUS and SIGTRAP stay unblocked, whatever the program blocks. Its own handlers for them get the
 * signals that are not the pager's. A child that it forks runs without a pager.
 */
#define _GNU_SOURCE
#include "page.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <poll.h>
#include <threads.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef USERFAULTFD_IOC_NEW
#define USERFAULTFD_IOC_NEW _IO(0xaa, 0x00)
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* Bits of the error code of a page fault. */
#define FETCH 0x10
#define WRITE 0x2
#define TRAP_FLAG 0x100u /* of the flags register: single steps */
/* The most unmapped pages that one instruction may read. */
#define MOST_LENT 32u
/* The number of faults that measure the way to the handler and back. */
#define MEASURED 101u
/* The lowest number for the pager's descriptor: programs that count from 0 seldom reach it. */
#define HIGH_DESCRIPTOR 700

/* A function that the program calls in place of the C library's. */
#define INTERPOSED __attribute__((visibility("default")))
/* The function of the C library that INTERPOSED hides. */
#define REAL(name) ((__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name))

struct paged_code fp_page_code;
#define CODE fp_page_code

static const struct policy_pager *const policies[] = {
    &fp_page_fifo,   &fp_page_clock,   &fp_page_pa_clock,
    &fp_page_random, &fp_page_fifo_sc, &fp_page_pa_fifo_sc,
};
#define POLICIES (sizeof(policies) / sizeof(policies[0]))

static const struct policy_pager *policy;
static struct page_report *report;
static int userfault = -1;
/* The file of the library that is paged, or "" for the program. */
static const char *library = "";
static bool is_paged;
static volatile bool is_measuring;
/* True in the program's first thread. */
static __thread bool is_first_thread __attribute__((tls_model("initial-exec")));

/* The program's own handlers of SIGBUS and SIGTRAP. */
static struct sigaction program_actions[2];

/* The pages that are mapped for one instruction only. */
static struct {
    uint32_t pages[MOST_LENT];
    unsigned count;
    uint64_t mask; /* the signals that the program had blocked */
} lent;

/* ------------------------------------------------------------------ the end of the program */

/* Makes a system call. The handler calls no function that the program may have replaced by one of its
 * own, which would be paged. */
static long call(long number, long a, long b, long c)
{
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return result;
}

/* Ends the process, with the reason in the report. */
_Noreturn static void leave(enum page_state state, const char *why, int error)
{
    for (size_t i = 0; why[i] && i < sizeof(report->reason) - 1; i++)
        report->reason[i] = why[i];
    report->error = (uint64_t)error;
    report->state = state;
    for (;;)
        call(SYS_exit_group, 2, 0, 0);
}

/* Ends the process before the program begins. */
_Noreturn static void refuse(const char *why, int error)
{
    leave(REFUSED, why, error);
}

/* Ends the program. */
_Noreturn static void stop(const char *why, int error)
{
    leave(STOPPED, why, error);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ------------------------------------------------------------------ pages */

void fp_page_map(uint32_t page, const uint8_t *bytes)
{
    struct uffdio_copy copy = {
        .dst = (uintptr_t)CODE.start + (uint64_t)page * PAGE_BYTES,
        .src = (uintptr_t)bytes,
        .len = PAGE_BYTES,
    };
    for (;;) {
        const int error = (int)-call(SYS_ioctl, userfault, UFFDIO_COPY, (long)(uintptr_t)&copy);
        /* It is mapped already if it was lent. */
        if (error == 0 || error == EEXIST)
            return;
        if (error != EAGAIN && error != EINTR)
            stop(error == EBADF || error == ENOTTY
                     ? "the program closed the descriptor of the pager"
                     : "a page of code cannot be mapped",
                 error);
    }
}

void fp_page_unmap(uint32_t page)
{
    const long at = (long)(uintptr_t)(CODE.start + (size_t)page * PAGE_BYTES);
    const int error = (int)-call(SYS_madvise, at, PAGE_BYTES, MADV_DONTNEED);
    if (error)
        stop("a page of code cannot be unmapped", error);
}

/* Maps a page until the current instruction has ended. */
static void lend(uint32_t page, ucontext_t *context)
{
    if (lent.count == MOST_LENT)
        stop("an instruction reads more pages of code than can be lent", 0);
    if (lent.count == 0) {
        /* A handler of the program must not interrupt the step. The kernel's set has 64 bits. */
        uint64_t own = UINT64_C(1) << (SIGBUS - 1) | UINT64_C(1) << (SIGTRAP - 1) |
                       UINT64_C(1) << (SIGSEGV - 1) | UINT64_C(1) << (SIGILL - 1) |
                       UINT64_C(1) << (SIGFPE - 1);
        memcpy(&lent.mask, &context->uc_sigmask, sizeof(lent.mask));
        own = lent.mask | ~own;
        memcpy(&context->uc_sigmask, &own, sizeof(own));
        context->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
    }
    lent.pages[lent.count++] = page;
    fp_page_map(page, CODE.flash + (size_t)page * PAGE_BYTES);
}

/* Unmaps the pages that were lent, and ends the single step. */
static void take_back(ucontext_t *context)
{
    while (lent.count > 0) {
        uint32_t page = lent.pages[--lent.count];
        if (!CODE.is_mapped[page])
            fp_page_unmap(page);
    }
    context->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    memcpy(&context->uc_sigmask, &lent.mask, sizeof(lent.mask));
}

/* ------------------------------------------------------------------ signals */

static struct sigaction *action_for(int number)
{
    return number == SIGBUS ? &program_actions[0] : number == SIGTRAP ? &program_actions[1] : NULL;
}

/* Gives the program a signal that is not the pager's. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    const struct sigaction *theirs = action_for(number);
    if (!(theirs->sa_flags & SA_SIGINFO) &&
        (theirs->sa_handler == SIG_DFL || theirs->sa_handler == SIG_IGN)) {
        if (theirs->sa_handler == SIG_IGN && info->si_code <= 0)
            return;
        /* A fault comes again, and ends the program as it would without the pager. */
        const struct sigaction none = { .sa_handler = SIG_DFL };
        REAL(sigaction)(number, &none, NULL);
        if (info->si_code <= 0 || number == SIGTRAP)
            raise(number);
        return;
    }
    sigset_t open;
    sigemptyset(&open);
    sigaddset(&open, SIGBUS);
    sigaddset(&open, SIGTRAP);
    REAL(sigprocmask)(SIG_UNBLOCK, &open, NULL);
    if (theirs->sa_flags & SA_SIGINFO)
        theirs->sa_sigaction(number, info, context);
    else
        theirs->sa_handler(number);
}

static const char own_code[] = "the program changes its own code, which comes from its file again";

/* Serves the fault of a page of code. */
static void serve(uint32_t page, ucontext_t *context)
{
    const greg_t *registers = context->uc_mcontext.gregs;
    if (is_measuring) {
        fp_page_map(page, CODE.flash);
        return;
    }
    if (!is_first_thread)
        stop("the program has a second thread, and one is paged", 0);
    if (registers[REG_ERR] & WRITE)
        stop(own_code, 0);
    if (!(registers[REG_ERR] & FETCH)) {
        report->data_reads++;
        lend(page, context);
        return;
    }
    if (policy->fault(page) != 0)
        stop("a fault outside of the code", 0);
    uint64_t at = (uint64_t)registers[REG_RIP] - (uintptr_t)CODE.start;
    uint32_t first = at / PAGE_BYTES < CODE.pages ? (uint32_t)(at / PAGE_BYTES) : page;
    if (!CODE.is_mapped[first]) {
        report->straddles++;
        lend(first, context);
    }
    policy->report_counts(report);
}

static void on_bus(int number, siginfo_t *info, void *context)
{
    const uint64_t start = now_ns();
    const int error = errno;
    uint64_t offset = (uintptr_t)info->si_addr - (uint64_t)(uintptr_t)CODE.start;
    if (info->si_code != BUS_ADRERR || offset / PAGE_BYTES >= CODE.pages) {
        pass_on(number, info, context);
        errno = error;
        return;
    }
    serve((uint32_t)(offset / PAGE_BYTES), context);
    errno = error;
    const uint64_t taken = now_ns() - start;
    report->handler_ns += taken;
    report->fault_ns[report->faults++ % MOST_TIMES] = taken < UINT32_MAX ? (uint32_t)taken : UINT32_MAX;
}

static void on_trap(int number, siginfo_t *info, void *context)
{
    const uint64_t start = now_ns();
    const int error = errno;
    if (lent.count == 0) {
        pass_on(number, info, context);
        errno = error;
        return;
    }
    take_back(context);
    errno = error;
    report->handler_ns += now_ns() - start;
}

/* Copies a set of signals without those of the pager. Returns the copy, or NULL if there is no set. */
static const sigset_t *without_ours(const sigset_t *set, sigset_t *copy)
{
    if (!set)
        return NULL;
    *copy = *set;
    if (is_paged) {
        sigdelset(copy, SIGBUS);
        sigdelset(copy, SIGTRAP);
    }
    return copy;
}

INTERPOSED int sigaction(int number, const struct sigaction *restrict new,
                         struct sigaction *restrict old)
{
    struct sigaction *theirs = is_paged ? action_for(number) : NULL;
    if (theirs) {
        struct sigaction before = *theirs;
        if (new)
            *theirs = *new;
        if (old)
            *old = before;
        return 0;
    }
    struct sigaction changed;
    if (new) {
        changed = *new;
        without_ours(&new->sa_mask, &changed.sa_mask);
    }
    return REAL(sigaction)(number, new ? &changed : NULL, old);
}

INTERPOSED sighandler_t signal(int number, sighandler_t handler)
{
    if (!is_paged || !action_for(number))
        return REAL(signal)(number, handler);
    struct sigaction *theirs = action_for(number);
    sighandler_t before = theirs->sa_handler;
    *theirs = (struct sigaction){ .sa_handler = handler, .sa_flags = SA_RESTART };
    return before;
}

INTERPOSED int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    sigset_t changed;
    return REAL(sigprocmask)(how, without_ours(set, &changed), old);
}

INTERPOSED int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    sigset_t changed;
    return REAL(pthread_sigmask)(how, without_ours(set, &changed), old);
}

INTERPOSED int sigsuspend(const sigset_t *set)
{
    sigset_t changed;
    return REAL(sigsuspend)(without_ours(set, &changed));
}

INTERPOSED int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                     const sigset_t *set)
{
    sigset_t changed;
    return REAL(ppoll)(fds, count, timeout, without_ours(set, &changed));
}

INTERPOSED int pselect(int count, fd_set *restrict reads, fd_set *restrict writes,
                       fd_set *restrict others, const struct timespec *restrict timeout,
                       const sigset_t *restrict set)
{
    sigset_t changed;
    return REAL(pselect)(count, reads, writes, others, timeout, without_ours(set, &changed));
}

/* ------------------------------------------------------------------ descriptors */

/* Programs that close all descriptors which they may have inherited must not close the pager's. */
INTERPOSED int close(int descriptor)
{
    if (is_paged && descriptor == userfault) {
        errno = EBADF;
        return -1;
    }
    return REAL(close)(descriptor);
}

/* The system call, around the pager's descriptor. */
INTERPOSED int close_range(unsigned first, unsigned last, int flags)
{
    const unsigned ours = (unsigned)userfault;
    if (!is_paged || first > ours || last < ours)
        return (int)syscall(SYS_close_range, first, last, flags);
    if (first < ours && syscall(SYS_close_range, first, ours - 1, flags) != 0)
        return -1;
    return last > ours ? (int)syscall(SYS_close_range, ours + 1, last, flags) : 0;
}

INTERPOSED void closefrom(int lowest)
{
    if (lowest < 0)
        lowest = 0;
    if (close_range((unsigned)lowest, ~0u, 0) == 0)
        return;
    /* Before Linux 5.9. */
    for (long descriptor = sysconf(_SC_OPEN_MAX) - 1; descriptor >= lowest; descriptor--)
        close((int)descriptor);
}

/* ------------------------------------------------------------------ the code */

/* A write to a mapped page does not fault, and would be lost when the page is unmapped. */
static void stop_at_own_code(const void *from, size_t bytes, int rights)
{
    const uintptr_t at = (uintptr_t)from, code = (uintptr_t)CODE.start;
    if (is_paged && rights & PROT_WRITE && at < code + CODE.bytes && at + bytes > code)
        stop(own_code, 0);
}

INTERPOSED int mprotect(void *from, size_t bytes, int rights)
{
    stop_at_own_code(from, bytes, rights);
    return REAL(mprotect)(from, bytes, rights);
}

INTERPOSED int pkey_mprotect(void *from, size_t bytes, int rights, int key)
{
    stop_at_own_code(from, bytes, rights);
    return REAL(pkey_mprotect)(from, bytes, rights, key);
}

/* ------------------------------------------------------------------ threads and children */

static const char a_thread[] = "the program starts a thread, and one thread is paged";

INTERPOSED int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
                              void *(*begin)(void *), void *restrict argument)
{
    if (is_paged)
        stop(a_thread, 0);
    return REAL(pthread_create)(thread, attributes, begin, argument);
}

INTERPOSED int thrd_create(thrd_t *thread, thrd_start_t begin, void *argument)
{
    if (is_paged)
        stop(a_thread, 0);
    return REAL(thrd_create)(thread, begin, argument);
}

/* A child of vfork() would fault in the memory of the program. */
INTERPOSED pid_t vfork(void)
{
    return fork();
}

/* Maps all of the code in a child, as it does not inherit the region. */
static void in_child(void)
{
    if (!is_paged)
        return;
    is_paged = false;
    const size_t bytes = (size_t)CODE.pages * PAGE_BYTES;
    void *at = mmap(CODE.start, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (at == MAP_FAILED)
        abort();
    fp_page_copy(CODE.start, CODE.flash, bytes);
    if (mprotect(CODE.start, bytes, PROT_READ | PROT_EXEC) != 0)
        abort();
    close(userfault);
    sigaction(SIGBUS, &program_actions[0], NULL);
    sigaction(SIGTRAP, &program_actions[1], NULL);
}

/* ------------------------------------------------------------------ the start */

/* The executable segment of the paged file. */
struct segment {
    uintptr_t start, bytes; /* in memory */
    uint64_t offset;        /* in the file */
    unsigned count;         /* how many there are: it is the last one */
};

/* Returns true if two paths name one file. */
static bool is_same_file(const char *one, const char *other)
{
    struct stat first, second;
    return stat(one, &first) == 0 && stat(other, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

static int find_segment(struct dl_phdr_info *info, size_t size, void *found_)
{
    struct segment *found = found_;
    (void)size;
    if (*library && !is_same_file(info->dlpi_name, library))
        return 0; /* the next file */
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_LOAD && header->p_flags & PF_X) {
            const uintptr_t before = header->p_vaddr % PAGE_BYTES;
            found->start = info->dlpi_addr + header->p_vaddr - before;
            found->bytes = header->p_filesz + before;
            found->offset = header->p_offset - before;
            found->count++;
        }
    }
    return 1; /* of all files the program is the first */
}

/* Returns a userfaultfd, with a high number. */
static int open_userfault(void)
{
    const int flags = O_CLOEXEC | O_NONBLOCK;
    int opened = (int)syscall(SYS_userfaultfd, flags | UFFD_USER_MODE_ONLY);
    if (opened < 0 && errno == EINVAL)
        opened = (int)syscall(SYS_userfaultfd, flags); /* before Linux 5.11 */
    if (opened < 0) {
        const int error = errno;
        int device = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
        if (device >= 0) {
            opened = ioctl(device, USERFAULTFD_IOC_NEW, flags);
            close(device);
        }
        if (opened < 0)
            refuse("userfaultfd", error);
    }
    struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_SIGBUS };
    if (ioctl(opened, UFFDIO_API, &api) != 0)
        refuse("userfaultfd without SIGBUS", errno);
    int high = fcntl(opened, F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR);
    if (high < 0)
        return opened;
    close(opened);
    return high;
}

/* Sends the descriptor to the process that started the program, which keeps it open: if the last one were
 * closed, missing pages would become zeros. */
static void hand_over(int socket)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = { 0 };
    char byte = 0;
    struct iovec data = { &byte, 1 };
    struct msghdr message = {
        .msg_iov = &data,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof(control.bytes),
    };
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &userfault, sizeof(int));
    if (sendmsg(socket, &message, MSG_NOSIGNAL) != 1)
        refuse("the descriptor of the pager cannot be handed over", errno);
    close(socket);
}

/* Returns zeroed memory. */
static void *memory_of(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        refuse("memory for the frames", errno);
    return memory;
}

/* Removes a variable from the environment. Returns its value, or NULL. A program may have a getenv() of its
 * own, as bash has, and the C library knows its environment later: neither works before they begin. */
static char *take_variable(char **environment, const char *name)
{
    const size_t length = strlen(name);
    char *value = NULL;
    for (char **at = environment; at && *at; at++) {
        if (strncmp(*at, name, length) == 0 && (*at)[length] == '=') {
            value = *at + length + 1;
            for (char **next = at; *next; next++)
                next[0] = next[1];
            break;
        }
    }
    return value;
}

/* Removes this library, the first one, from LD_PRELOAD. */
static void hide(char **environment)
{
    static const char name[] = "LD_PRELOAD=";
    for (char **at = environment; at && *at; at++) {
        if (strncmp(*at, name, sizeof(name) - 1) == 0) {
            char *first = *at + sizeof(name) - 1, *others = strchr(first, ':');
            if (others)
                memmove(first, others + 1, strlen(others + 1) + 1);
            else
                take_variable(environment, "LD_PRELOAD");
            return;
        }
    }
}

/* Installs the pager's handler of a signal, and unblocks the signal. */
static void install_handler(int number, void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART };
    sigset_t open;
    sigfillset(&action.sa_mask);
    sigemptyset(&open);
    sigaddset(&open, number);
    if (REAL(sigaction)(number, &action, action_for(number)) != 0 ||
        REAL(sigprocmask)(SIG_UNBLOCK, &open, NULL) != 0)
        refuse("a signal's handler", errno);
}

/* Sorts by insertion: qsort() may call the program's own free(), which would be paged. */
static uint64_t median_of(uint64_t *values, unsigned count)
{
    for (unsigned i = 1; i < count; i++) {
        const uint64_t value = values[i];
        unsigned at = i;
        for (; at > 0 && values[at - 1] > value; at--)
            values[at] = values[at - 1];
        values[at] = value;
    }
    return values[count / 2];
}

/* Measures the time of a fault outside the handler. */
static void measure(void)
{
    uint64_t outer[MEASURED];
    is_measuring = true;
    for (unsigned i = 0; i < MEASURED; i++) {
        report->handler_ns = 0;
        const uint64_t start = now_ns();
        (void)*(volatile const uint8_t *)CODE.start;
        outer[i] = now_ns() - start - report->handler_ns;
        fp_page_unmap(0);
    }
    is_measuring = false;
    report->handler_ns = report->faults = 0;
    report->outer_ns = median_of(outer, MEASURED);
}

/* Reads the design from the environment. Returns the socket that gets the pager's descriptor, or -1 if
 * there is no design. */
static int read_design(char **environment)
{
    char *design = take_variable(environment, DESIGN_VARIABLE);
    unsigned long numbers[5];
    if (!design)
        return -1;
    for (unsigned i = 0; i < 5; i++) {
        char *end;
        numbers[i] = strtoul(design, &end, 10);
        design = end;
    }
    report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED, (int)numbers[0], 0);
    if (report == MAP_FAILED)
        _exit(2);
    close((int)numbers[0]);
    if (numbers[2] >= POLICIES)
        refuse("an unknown policy", 0);
    policy = policies[numbers[2]];
    CODE.parameter = (uint32_t)numbers[3];
    CODE.frames = (uint32_t)numbers[4];
    if (*design == ' ')
        library = design + 1;
    return (int)numbers[1];
}

/* Refuses the code that the pager calls itself: the C library's, and the loader's. */
static void refuse_own(const struct segment *segment)
{
    static const char *const functions[] = { "sigaction", "__tls_get_addr" };
    for (unsigned i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        if ((uintptr_t)dlsym(RTLD_NEXT, functions[i]) - segment->start < segment->bytes)
            refuse("the pager itself runs on this library", 0);
}

/* Finds the code in memory and maps its file. */
static void find_code(void)
{
    struct segment segment = { 0 };
    dl_iterate_phdr(find_segment, &segment);
    if (*library && segment.count == 0)
        refuse("it does not load the library when it starts", 0);
    if (*library)
        refuse_own(&segment);
    const int file = open(*library ? library : "/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (segment.count != 1 || segment.bytes == 0 || segment.bytes > (uint64_t)MOST_PAGES * PAGE_BYTES)
        refuse("the code is not one segment", 0);
    if (file < 0)
        refuse("the file of the code cannot be read", errno);
    CODE.start = (uint8_t *)segment.start;
    CODE.bytes = (uint32_t)segment.bytes;
    CODE.pages = (CODE.bytes + PAGE_BYTES - 1) / PAGE_BYTES;
    CODE.flash = mmap(NULL, (size_t)CODE.pages * PAGE_BYTES, PROT_READ, MAP_PRIVATE, file,
                      (off_t)segment.offset);
    if (CODE.flash == MAP_FAILED)
        refuse("the file of the code cannot be mapped", errno);
    close(file);
    if (memcmp(CODE.start, CODE.flash, CODE.bytes) != 0)
        refuse("the code is not that of its file: it was relocated, or is not run by itself", 0);
}

/* Puts an empty region, whose faults are signals, where the code is. */
static void replace_code(void)
{
    const size_t bytes = (size_t)CODE.pages * PAGE_BYTES;
    if (mmap(CODE.start, bytes, PROT_READ | PROT_EXEC,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED)
        refuse("memory for the code", errno);
    /* A kernel without huge pages returns EINVAL. */
    if (madvise(CODE.start, bytes, MADV_NOHUGEPAGE) != 0 && errno != EINVAL)
        refuse("memory for the code", errno);
    if (madvise(CODE.start, bytes, MADV_DONTFORK) != 0)
        refuse("memory for the code", errno);
    struct uffdio_register registered = {
        .range = { (uintptr_t)CODE.start, bytes },
        .mode = UFFDIO_REGISTER_MODE_MISSING,
    };
    if (ioctl(userfault, UFFDIO_REGISTER, &registered) != 0)
        refuse("userfaultfd for the code", errno);
}

/* The library is initialised before all others (-z initfirst), so that the initialisers of a paged library
 * are paged, too. */
__attribute__((constructor)) static void start(int arguments, char **argument, char **environment)
{
    (void)arguments;
    (void)argument;
    const int socket = read_design(environment);
    if (socket < 0)
        return;
    hide(environment);
    find_code();
    CODE.memory = memory_of((size_t)CODE.frames * PAGE_BYTES);
    CODE.frame = memory_of(CODE.pages * sizeof(CODE.frame[0]));
    CODE.is_mapped = memory_of(CODE.pages);
    userfault = open_userfault();
    hand_over(socket);
    if (policy->start() != 0)
        refuse("the pager does not start", 0);
    install_handler(SIGBUS, on_bus);
    install_handler(SIGTRAP, on_trap);
    pthread_atfork(NULL, NULL, in_child);
    replace_code();
    is_first_thread = true;
    report->code_bytes = CODE.bytes;
    measure();
    is_paged = true;
    report->state = PAGED;
}
