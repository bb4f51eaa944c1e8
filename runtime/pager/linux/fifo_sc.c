#define FP_PAGER_POLICY FP_PAGER_FIFO_SC
#include "policy.h"

const struct policy fp_page_fifo_sc = THE_POLICY("fifo-sc");
