#define FP_PAGER_POLICY FP_PAGER_FIFO_SC
#include "policy.h"

const struct policy_pager fp_page_fifo_sc = POLICY_PAGER("fifo-sc");
