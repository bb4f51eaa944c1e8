/*
 * Labels between instructions, by which a simulator tells jobs. A label takes no cycle and no byte,
 * though the compiler may arrange what stands around it otherwise.
 *
 * Compile pager.c and a program with `-include marks.h`. Who reads them: avr_jobs.h.
 */
#ifndef FLASHPAGER_MARKS_H
#define FLASHPAGER_MARKS_H

#define AVR_LABEL_(name) __asm__ volatile(".type " name "_%=, @function\n" name "_%=:" :)

/* What comes now is of a job: program, read, other0 to other7. */
#define AVR_JOB(job)                                                                             \
    __asm__ volatile(".type fp_job_" #job "_%=, @function\nfp_job_" #job "_%=:" ::: "memory")

/* Of the pager: a job is done, a step of a walk was taken. */
#define FP_PAGER_JOB_DONE(job) AVR_LABEL_("fp_done_" #job)
#define FP_PAGER_STEP_DONE() AVR_LABEL_("fp_step")

#endif
