#define FP_PAGER_POLICY FP_PAGER_FIFO
#include "policy.h"

const struct policy fp_page_fifo = THE_POLICY("fifo");
