#include "pager_onenand.h"

static const struct test tests[] = {
    {"pager_onenand_fuzz", fuzz},
    {"pager_onenand_troubles", troubles},
    {"pager_onenand_loads", loads},
    {"pager_onenand_peeks", peeks},
    {"pager_onenand_others", others},
    {NULL, NULL},
};

TEST_LIST(tests)
