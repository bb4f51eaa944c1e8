#define FP_PAGER_POLICY FP_PAGER_PA_FIFO_SC
#include "policy.h"

const struct policy fp_page_pa_fifo_sc = THE_POLICY("pa-fifo-sc");
