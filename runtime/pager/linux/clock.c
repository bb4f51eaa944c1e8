#define FP_PAGER_POLICY FP_PAGER_CLOCK
#include "policy.h"

const struct policy_pager fp_page_clock = POLICY_PAGER("clock");
