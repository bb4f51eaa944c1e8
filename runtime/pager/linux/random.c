#define FP_PAGER_POLICY FP_PAGER_RANDOM
#include "policy.h"

const struct policy_pager fp_page_random = POLICY_PAGER("random");
