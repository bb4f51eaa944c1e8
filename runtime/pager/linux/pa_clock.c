#define FP_PAGER_POLICY FP_PAGER_PA_CLOCK
#include "policy.h"

const struct policy_pager fp_page_pa_clock = POLICY_PAGER("pa-clock");
