/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The part of QEMU's TCG plugin interface that the recorder calls.
 *
 * Debian ships no qemu-plugin.h, so the prototypes are declared here. All of
 * them exist with the same meaning in interface version 1 (QEMU 4.2 to 8.2)
 * and in versions 2 and up (QEMU 9.0 on).
 */
#ifndef FLASHPAGER_QEMU_PLUGIN_API_H
#define FLASHPAGER_QEMU_PLUGIN_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t qemu_plugin_id_t;

/* Passed to qemu_plugin_install(); QEMU appends fields, never moves them. */
typedef struct qemu_info {
    const char *target_name; /* "x86_64", "arm", "riscv32", ... */
    struct {
        int min;
        int cur;
    } version;
    bool system_emulation; /* false for qemu-<arch>, true for qemu-system-<arch> */
} qemu_info_t;

struct qemu_plugin_tb;   /* a translation block: straight-line guest code */
struct qemu_plugin_insn; /* one guest instruction in it */

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_R = 1, QEMU_PLUGIN_MEM_W, QEMU_PLUGIN_MEM_RW };
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };

typedef uint32_t qemu_plugin_meminfo_t;

struct qemu_plugin_scoreboard; /* a value for each processor */
typedef struct {
    struct qemu_plugin_scoreboard *score;
    size_t offset;
} qemu_plugin_u64;

typedef void (*qemu_plugin_simple_cb_t)(qemu_plugin_id_t id);
typedef void (*qemu_plugin_vcpu_simple_cb_t)(qemu_plugin_id_t id, unsigned int vcpu_index);
typedef void (*qemu_plugin_vcpu_mem_cb_t)(unsigned int vcpu_index, qemu_plugin_meminfo_t info,
                                          uint64_t vaddr, void *userdata);
typedef void (*qemu_plugin_udata_cb_t)(qemu_plugin_id_t id, void *userdata);
typedef void (*qemu_plugin_vcpu_udata_cb_t)(unsigned int vcpu_index, void *userdata);
typedef void (*qemu_plugin_vcpu_tb_trans_cb_t)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_tb_trans_cb_t cb);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
                                          qemu_plugin_vcpu_udata_cb_t cb,
                                          enum qemu_plugin_cb_flags flags, void *userdata);
void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_simple_cb_t cb);
void qemu_plugin_register_vcpu_exit_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_simple_cb_t cb);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
                                            qemu_plugin_vcpu_udata_cb_t cb,
                                            enum qemu_plugin_cb_flags flags, void *userdata);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, qemu_plugin_vcpu_mem_cb_t cb,
                                      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw rw,
                                      void *userdata);
unsigned int qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, qemu_plugin_udata_cb_t cb, void *userdata);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t idx);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn);

/* The signature depends on the version: up to 2 it returns a pointer to the bytes, and from 3 on it
 * copies them. The caller casts it to one of these types. */
void qemu_plugin_insn_data(void);
typedef const void *(*qemu_plugin_insn_look_t)(const struct qemu_plugin_insn *insn);
typedef size_t (*qemu_plugin_insn_copy_t)(const struct qemu_plugin_insn *insn, void *dest,
                                          size_t len);

/* In version 1 only: one value for all processors. */
__attribute__((weak)) void qemu_plugin_register_vcpu_insn_exec_inline(
    struct qemu_plugin_insn *insn, enum qemu_plugin_op op, void *ptr, uint64_t imm);

/* From version 2 on: one value for each processor. */
__attribute__((weak)) void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
    struct qemu_plugin_insn *insn, enum qemu_plugin_op op, qemu_plugin_u64 entry, uint64_t imm);
__attribute__((weak)) struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(
    size_t element_size);
__attribute__((weak)) void *qemu_plugin_scoreboard_find(struct qemu_plugin_scoreboard *score,
                                                        unsigned int vcpu_index);

/* User mode only: where the program's executable segments begin in guest memory. */
uint64_t qemu_plugin_start_code(void);

#endif
