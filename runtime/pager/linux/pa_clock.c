#define FP_PAGER_POLICY FP_PAGER_PA_CLOCK
#include "policy.h"

const struct policy fp_page_pa_clock = THE_POLICY("pa-clock");
