#define FP_PAGER_POLICY FP_PAGER_CLOCK
#include "policy.h"

const struct policy fp_page_clock = THE_POLICY("clock");
