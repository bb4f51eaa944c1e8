#define FP_PAGER_POLICY FP_PAGER_PA_FIFO_SC
#include "policy.h"

const struct policy_pager fp_page_pa_fifo_sc = POLICY_PAGER("pa-fifo-sc");
