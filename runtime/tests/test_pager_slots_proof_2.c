/* The torture finds a journal whose states have 2 pages. */
#define FP_SLOTS_STATE_PAGES_ 2u
#define FIRST_SEED 5200
#define PROOF "pager_slots_proof_2_is_found"
#include "pager_slots_proof.h"
