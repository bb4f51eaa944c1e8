#include "onenand_rig.h"

static const struct test tests[] = {
    {"onenand_fuzz", fuzz},
    {"onenand_troubles", troubles},
    {"onenand_loads", loads},
    {"onenand_peeks", peeks},
    {"onenand_others", others},
    {NULL, NULL},
};

TEST_LIST(tests)
