/*
 * A program's own code behind userfaultfd
 *
 * The pager lives in the program's process and in its one thread: a fault of its code is a SIGBUS, and
 * the handler of that, which is not in paged memory, is the pager. Libraries stay where they are.
 *
 * What a trace of code has not is no reference here either:
 *   - A read of code as data. The page is lent for that instruction, which is run as a single step.
 *   - A second fetch by one instruction. Where one lies across the end of a page, the fault of its
 *     second page may take its first one away: that is lent for the instruction, too.
 *
 * The program keeps SIGBUS and SIGTRAP open whatever it blocks, and handlers of its own for them get what
 * is not the pager's. A child that it forks runs as it does without a pager.
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

/* In the error code of a page fault. */
#define FETCH 0x10
#define WRITE 0x2
#define TRAP_FLAG 0x100u /* of a single step */
/* Pages that one instruction may read that are not mapped. */
#define MOST_LENT 32u
/* Faults by which the way to the handler and back is measured. */
#define MEASURED 101u
/* Where a program that counts descriptors from below is not likely to come. */
#define HIGH_DESCRIPTOR 700

#define INTERPOSED __attribute__((visibility("default")))
/* What the program would have called. */
#define REAL(name) ((__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name))

struct code fp_page_code;
#define CODE fp_page_code

static const struct policy *const policies[] = {
    &fp_page_fifo,   &fp_page_clock,   &fp_page_pa_clock,
    &fp_page_random, &fp_page_fifo_sc, &fp_page_pa_fifo_sc,
};
#define POLICIES (sizeof(policies) / sizeof(policies[0]))

static const struct policy *policy;
static struct told *told;
static int userfault = -1;
static bool is_paged;
static volatile bool is_measuring;
static __thread bool is_first __attribute__((tls_model("initial-exec"))); /* thread */

/* Handlers of the program's own. */
static struct sigaction of_program[2];

/* Pages that are there for one instruction, and the signals that it blocked. */
static struct {
    uint32_t pages[MOST_LENT];
    unsigned count;
    uint64_t mask;
} lent;

/* ------------------------------------------------------------------ ends */

/* The handler calls nothing that the program may have replaced by a function of its own, which would be
 * paged. */
static long call(long number, long a, long b, long c)
{
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return result;
}

_Noreturn static void leave(enum state state, const char *why, int error)
{
    for (size_t i = 0; why[i] && i < sizeof(told->reason) - 1; i++)
        told->reason[i] = why[i];
    told->error = (uint64_t)error;
    told->state = state;
    for (;;)
        call(SYS_exit_group, 2, 0, 0);
}

_Noreturn static void refuse(const char *why, int error)
{
    leave(REFUSED, why, error);
}

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
        /* It may have been lent. */
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

/* Map a page until the instruction at hand is done. */
static void lend(uint32_t page, ucontext_t *context)
{
    if (lent.count == MOST_LENT)
        stop("an instruction reads more pages of code than can be lent", 0);
    if (lent.count == 0) {
        /* The kernel's own set has 64 bits. A handler of the program's must not come between. */
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

static struct sigaction *of_program_for(int number)
{
    return number == SIGBUS ? &of_program[0] : number == SIGTRAP ? &of_program[1] : NULL;
}

/* A signal that is none of the pager's. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    const struct sigaction *theirs = of_program_for(number);
    if (!(theirs->sa_flags & SA_SIGINFO) &&
        (theirs->sa_handler == SIG_DFL || theirs->sa_handler == SIG_IGN)) {
        if (theirs->sa_handler == SIG_IGN && info->si_code <= 0)
            return;
        /* A fault comes again, and ends the program as it would have. */
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

static void serve(uint32_t page, ucontext_t *context)
{
    const greg_t *registers = context->uc_mcontext.gregs;
    if (is_measuring) {
        fp_page_map(page, CODE.flash);
        return;
    }
    if (!is_first)
        stop("the program has a second thread, and one is paged", 0);
    if (registers[REG_ERR] & WRITE)
        stop(own_code, 0);
    if (!(registers[REG_ERR] & FETCH)) {
        told->data_reads++;
        lend(page, context);
        return;
    }
    if (policy->fault(page) != 0)
        stop("a fault outside of the code", 0);
    uint64_t at = (uint64_t)registers[REG_RIP] - (uintptr_t)CODE.start;
    uint32_t first = at / PAGE_BYTES < CODE.pages ? (uint32_t)(at / PAGE_BYTES) : page;
    if (!CODE.is_mapped[first]) {
        told->straddles++;
        lend(first, context);
    }
    policy->tell(told);
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
    told->handler_ns += taken;
    told->fault_ns[told->faults++ % MOST_TIMES] = taken < UINT32_MAX ? (uint32_t)taken : UINT32_MAX;
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
    told->handler_ns += now_ns() - start;
}

static void without_ours(sigset_t *set)
{
    if (is_paged) {
        sigdelset(set, SIGBUS);
        sigdelset(set, SIGTRAP);
    }
}

INTERPOSED int sigaction(int number, const struct sigaction *restrict new,
                         struct sigaction *restrict old)
{
    struct sigaction *theirs = is_paged ? of_program_for(number) : NULL;
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
        without_ours(&changed.sa_mask);
    }
    return REAL(sigaction)(number, new ? &changed : NULL, old);
}

INTERPOSED sighandler_t signal(int number, sighandler_t handler)
{
    if (!is_paged || !of_program_for(number))
        return REAL(signal)(number, handler);
    struct sigaction *theirs = of_program_for(number);
    sighandler_t before = theirs->sa_handler;
    *theirs = (struct sigaction){ .sa_handler = handler, .sa_flags = SA_RESTART };
    return before;
}

INTERPOSED int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    sigset_t changed;
    if (set) {
        changed = *set;
        without_ours(&changed);
    }
    return REAL(sigprocmask)(how, set ? &changed : NULL, old);
}

INTERPOSED int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    sigset_t changed;
    if (set) {
        changed = *set;
        without_ours(&changed);
    }
    return REAL(pthread_sigmask)(how, set ? &changed : NULL, old);
}

INTERPOSED int sigsuspend(const sigset_t *set)
{
    sigset_t changed = *set;
    without_ours(&changed);
    return REAL(sigsuspend)(&changed);
}

INTERPOSED int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                     const sigset_t *set)
{
    sigset_t changed;
    if (set) {
        changed = *set;
        without_ours(&changed);
    }
    return REAL(ppoll)(fds, count, timeout, set ? &changed : NULL);
}

INTERPOSED int pselect(int count, fd_set *restrict reads, fd_set *restrict writes,
                       fd_set *restrict others, const struct timespec *restrict timeout,
                       const sigset_t *restrict set)
{
    sigset_t changed;
    if (set) {
        changed = *set;
        without_ours(&changed);
    }
    return REAL(pselect)(count, reads, writes, others, timeout, set ? &changed : NULL);
}

/* ------------------------------------------------------------------ descriptors */

/* A program that closes all that it may have inherited knows nothing of the pager's. */
INTERPOSED int close(int descriptor)
{
    if (is_paged && descriptor == userfault) {
        errno = EBADF;
        return -1;
    }
    return REAL(close)(descriptor);
}

/* The kernel's own, around the pager's descriptor. */
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

/* A write to a page that is mapped does not fault, and would be lost when the page goes. */
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

/* A child in the program's own memory would fault there. */
INTERPOSED pid_t vfork(void)
{
    return fork();
}

/* The region is not inherited: a child gets its code anew, and whole. */
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
    sigaction(SIGBUS, &of_program[0], NULL);
    sigaction(SIGTRAP, &of_program[1], NULL);
}

/* ------------------------------------------------------------------ the start */

/* The executable segment of the program, as it lies in memory and in its file. */
struct segment {
    uintptr_t start, bytes;
    uint64_t offset;
    unsigned count;
};

static int find_segment(struct dl_phdr_info *info, size_t size, void *found_)
{
    struct segment *found = found_;
    (void)size;
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
    return 1; /* the program is the first */
}

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

/* Who started the program holds the descriptor, too: were it closed, pages that are missing would be
 * zeros. */
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

static void *memory_of(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        refuse("memory for the frames", errno);
    return memory;
}

/* Give what the environment has of a name, and take it out. A program may have functions of its own for
 * that, as bash has, which know nothing before it begins. */
static char *taken(const char *name)
{
    const size_t length = strlen(name);
    char *value = NULL;
    for (char **at = environ; at && *at; at++) {
        if (strncmp(*at, name, length) == 0 && (*at)[length] == '=') {
            value = *at + length + 1;
            for (char **next = at; *next; next++)
                next[0] = next[1];
            break;
        }
    }
    return value;
}

/* What is preloaded becomes what it was given as: ours is the first of it. */
static void hide(void)
{
    static const char name[] = "LD_PRELOAD=";
    for (char **at = environ; at && *at; at++) {
        if (strncmp(*at, name, sizeof(name) - 1) == 0) {
            char *first = *at + sizeof(name) - 1, *others = strchr(first, ':');
            if (others)
                memmove(first, others + 1, strlen(others + 1) + 1);
            else
                taken("LD_PRELOAD");
            return;
        }
    }
}

static void handle(int number, void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART };
    sigset_t open;
    sigfillset(&action.sa_mask);
    sigemptyset(&open);
    sigaddset(&open, number);
    if (REAL(sigaction)(number, &action, of_program_for(number)) != 0 ||
        REAL(sigprocmask)(SIG_UNBLOCK, &open, NULL) != 0)
        refuse("a signal's handler", errno);
}

/* Not by qsort(), which frees memory by way of the program's code where that has free()'s address. */
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

/* Measure what a fault takes outside of the handler. */
static void measure(void)
{
    uint64_t outer[MEASURED];
    is_measuring = true;
    for (unsigned i = 0; i < MEASURED; i++) {
        told->handler_ns = 0;
        const uint64_t start = now_ns();
        (void)*(volatile const uint8_t *)CODE.start;
        outer[i] = now_ns() - start - told->handler_ns;
        fp_page_unmap(0);
    }
    is_measuring = false;
    told->handler_ns = told->faults = 0;
    told->outer_ns = median_of(outer, MEASURED);
}

__attribute__((constructor)) static void start(void)
{
    char *design = taken(DESIGN_VARIABLE);
    unsigned long numbers[5];
    if (!design)
        return;
    for (unsigned i = 0; i < 5; i++) {
        char *end;
        numbers[i] = strtoul(design, &end, 10);
        design = end;
    }
    told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED, (int)numbers[0], 0);
    if (told == MAP_FAILED)
        _exit(2);
    close((int)numbers[0]);
    if (numbers[2] >= POLICIES)
        refuse("a policy that is none", 0);
    policy = policies[numbers[2]];
    CODE.parameter = (uint32_t)numbers[3];
    CODE.frames = (uint32_t)numbers[4];
    hide();

    struct segment segment = { 0 };
    dl_iterate_phdr(find_segment, &segment);
    const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (segment.count != 1 || segment.bytes == 0 || segment.bytes > (uint64_t)MOST_PAGES * PAGE_BYTES)
        refuse("the program's code is not one segment", 0);
    if (file < 0)
        refuse("the program's file cannot be read", errno);
    CODE.start = (uint8_t *)segment.start;
    CODE.bytes = (uint32_t)segment.bytes;
    CODE.pages = (CODE.bytes + PAGE_BYTES - 1) / PAGE_BYTES;
    const size_t bytes = (size_t)CODE.pages * PAGE_BYTES;
    CODE.flash = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, file, (off_t)segment.offset);
    if (CODE.flash == MAP_FAILED)
        refuse("the program's file cannot be mapped", errno);
    close(file);
    if (memcmp(CODE.start, CODE.flash, CODE.bytes) != 0)
        refuse("the program's code is not that of its file: it was relocated, or is not run by itself",
               0);
    CODE.memory = memory_of((size_t)CODE.frames * PAGE_BYTES);
    CODE.frame = memory_of(CODE.pages * sizeof(CODE.frame[0]));
    CODE.is_mapped = memory_of(CODE.pages);
    userfault = open_userfault();
    hand_over((int)numbers[1]);
    if (policy->start() != 0)
        refuse("the pager does not start", 0);
    handle(SIGBUS, on_bus);
    handle(SIGTRAP, on_trap);
    pthread_atfork(NULL, NULL, in_child);
    if (mmap(CODE.start, bytes, PROT_READ | PROT_EXEC,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED)
        refuse("memory for the code", errno);
    /* EINVAL: a kernel without huge pages. */
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
    is_first = true;
    told->code_bytes = CODE.bytes;
    measure();
    is_paged = true;
    told->state = PAGED;
}
