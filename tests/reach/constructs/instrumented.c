// A function that the compiler calls at each entry.
// flags: -finstrument-functions
#include "case.h"

__attribute__((no_instrument_function)) EITHER KEEP void __cyg_profile_func_enter(void *this, void *site)
{
    (void)this;
    (void)site;
    CLOBBER();
}
__attribute__((no_instrument_function)) RAM KEEP void __cyg_profile_func_exit(void *this, void *site)
{
    (void)this;
    (void)site;
    CLOBBER();
}
ROOT root(int x) { return x + 1; }
INPUTS(0, 5)
