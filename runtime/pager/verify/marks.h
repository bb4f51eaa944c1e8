/*
 * Labels between instructions, by which a simulator knows the job of each instruction. A label takes no
 * cycle and no byte, though the compiler may arrange the code around it in another way.
 *
 * Compile pager.c and a program with `-include marks.h`. avr_jobs.h reads the labels.
 */
#ifndef FLASHPAGER_MARKS_H
#define FLASHPAGER_MARKS_H

#define AVR_LABEL_(name) __asm__ volatile(".type " name "_%=, @function\n" name "_%=:" :)

/* Begins a job of the program: program, read, or other0 to other7. */
#define AVR_JOB(job)                                                                             \
    __asm__ volatile(".type fp_job_" #job "_%=, @function\nfp_job_" #job "_%=:" ::: "memory")

/* The ends of the pager's jobs, and of the steps of its walks. */
#define FP_PAGER_JOB_DONE(job) AVR_LABEL_("fp_done_" #job)
#define FP_PAGER_STEP_DONE() AVR_LABEL_("fp_step")

#endif
