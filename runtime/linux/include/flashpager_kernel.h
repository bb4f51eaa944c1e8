/* Included before every file of the store: kernel functions for C operators that a kernel lacks. */
#ifndef FLASHPAGER_KERNEL_H
#define FLASHPAGER_KERNEL_H

#include <linux/compiler.h>
#include <linux/math64.h>

#define FP_DIV64(dividend, divisor) div64_u64(dividend, divisor)
#define FP_APART noinline

#endif
