/* The torture finds a journal whose states have 1 page. */
#define FP_SLOTS_STATE_PAGES_ 1u
#define FIRST_SEED 0
#define PROOF "pager_slots_proof_1_is_found"
#include "pager_slots_proof.h"
