/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * flashpager's own recorder: runs a program one instruction at a time.
 *
 *   flashpager-step PIPE TAIL THREADS FILE NAME [ARGUMENTS]...
 *
 *   PIPE     write end of the pipe to which the recorder stream goes
 *   TAIL     the shared-memory file in which it is collected
 *            (recorders/README.md, "Recorder stream")
 *   THREADS  "one" records all threads together; "each" records them separately;
 *            "children" also records the processes that the program starts, and
 *            records all of them separately
 *   FILE     the program
 *   NAME     its argv[0]
 *
 * The process that is started becomes the program, so that its parent, its exit
 * code, its signals and its terminal are its own. A grandchild of it traces it,
 * in a session of its own. Threads of the program are always stepped; processes
 * that it forks only with "children", else they run free.
 *
 * An instruction counts each time it is fetched and begun, whether it completes
 * or ends in a signal. It does not count if its own bytes cannot be fetched. A
 * `rep` counts once for each iteration, or once if there is none.
 *
 * A thread's instructions are collected into blocks. A block ends at a branch or
 * a system call. Blocks are in the stream in the order in which their last
 * instructions completed.
 *
 * The stepper hides from the program:
 *   the trap flag, in flags that it pushes and in signal frames;
 *   that a step unblocks or stops ignoring SIGTRAP: meanwhile the kernel does
 *   not know that the program blocks or ignores it.
 */
#define _GNU_SOURCE
#include "output.h"
#include "tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Traces the process `id`, which waits at `down` until it is traced. */
_Noreturn static void trace(pid_t id, int up, int down)
{
    add_process(id, ++processes_seen);
    current->is_first = true;
    pid_t self = getpid();
    char byte;
    (void)!write(up, &self, sizeof self);
    if (read(down, &byte, 1) != 1) {
        _exit(2);
    }
    long options = PTRACE_O_TRACEEXEC | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXIT |
                   PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL;
    if (follows_children) {
        options |= PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
    }
    if (ptrace(PTRACE_SEIZE, id, NULL, (void *)options) != 0) {
        char reason[256];
        snprintf(reason, sizeof reason,
                 "ptrace is refused (%s): by Yama, a container's seccomp profile or a debugger; "
                 "record with QEMU (Debian: apt install qemu-user)", strerror(errno));
        refuse(reason);
    }
    put_meta("recorder", "step");
    put_meta("target", machine_name);
    put_meta("mode", "user");
    put_meta("in_doubt", "0");
    (void)!write(up, "", 1);
    close(up);
    trace_until_end();
    int error = 0;
    if (!has_begun && read(down, &error, sizeof error) == (ssize_t)sizeof error) {
        char reason[256];
        snprintf(reason, sizeof reason, "the program cannot be run: %s", strerror(error));
        refuse(reason);
    }
    put_end();
    output_flush();
    _exit(0);
}

/* Runs in the process between: starts the tracer in a session of its own, and ends. */
_Noreturn static void start_tracer(pid_t id, const int up[2], const int down[2], int pipe_fd,
                                   int tail_fd)
{
    pid_t tracer = fork();
    if (tracer != 0) {
        _exit(tracer < 0);
    }
    setsid(); /* the terminal's signals are for the program alone */
    signal(SIGPIPE, SIG_IGN);
    close(up[0]);
    close(down[1]);
    for (int fd = 0; fd < 3; fd++) {
        close(fd);
    }
    open("/dev/null", O_RDWR);
    (void)!dup(0);
    (void)!dup(0);
    if (chdir("/") != 0 || !output_open(pipe_fd, tail_fd)) {
        _exit(2);
    }
    trace(id, up[1], down[0]);
}

int main(int argc, char **argv)
{
    if (argc < 6) {
        fprintf(stderr, "usage: flashpager-step PIPE TAIL THREADS FILE NAME [ARGUMENTS]...\n");
        return 2;
    }
    int pipe_fd = atoi(argv[1]), tail_fd = atoi(argv[2]);
    threads_together = strcmp(argv[3], "one") == 0;
    follows_children = strcmp(argv[3], "children") == 0;
    int up[2], down[2];
    if (pipe2(up, O_CLOEXEC) != 0 || pipe2(down, O_CLOEXEC) != 0) {
        perror("flashpager-step: pipe");
        return 2;
    }
    pid_t id = getpid();
    /* The process between sends no signal when it ends. The program would find that signal pending,
     * and if the program ignores SIGCHLD, nobody could wait for the process. */
    pid_t between = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
    if (between == 0) {
        start_tracer(id, up, down, pipe_fd, tail_fd);
    }
    close(up[1]);
    close(down[0]);
    close(pipe_fd);
    close(tail_fd);
    int status = 1;
    pid_t tracer;
    char byte;
    if (between < 0 || waitpid(between, &status, __WALL) != between || status != 0 ||
        read(up[0], &tracer, sizeof tracer) != (ssize_t)sizeof tracer) {
        fprintf(stderr, "flashpager-step: no process can be started\n");
        return 2;
    }
    prctl(PR_SET_PTRACER, (unsigned long)tracer, 0, 0, 0); /* as Yama demands */
    (void)!write(down[1], "", 1);
    if (read(up[0], &byte, 1) != 1) {
        return 2; /* the reason is in the stream */
    }
    /* Addresses must not differ from run to run. */
    int before = personality(0xffffffff);
    if (before != -1) {
        personality((unsigned long)before | ADDR_NO_RANDOMIZE);
    }
    execv(argv[4], argv + 5);
    int error = errno;
    (void)!write(down[1], &error, sizeof error);
    return 127;
}
