#define FP_PAGER_POLICY FP_PAGER_FIFO
#include "policy.h"

const struct policy_pager fp_page_fifo = POLICY_PAGER("fifo");
