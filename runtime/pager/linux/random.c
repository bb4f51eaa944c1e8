#define FP_PAGER_POLICY FP_PAGER_RANDOM
#include "policy.h"

const struct policy fp_page_random = THE_POLICY("random");
