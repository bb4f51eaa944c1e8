// A switch of cases too long for a table of bytes; the last one calls a function.
#include "case.h"

volatile int port;
EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
#define LONG(n) port = n; port = n + 1; port = n + 2; port = n + 3; port = n ^ 77777; port = n * 33333; \
    port = port + n; port = port - 3 * n; port = port ^ 123456; port = port + 98765; CLOBBER(); \
    port = port + n; port = port - 3 * n; port = port ^ 123457; port = port + 98766; CLOBBER(); \
    port = port + n; port = port - 3 * n; port = port ^ 123458; port = port + 98767; CLOBBER();
ROOT root(int x)
{
    switch (x) {
    case 0: LONG(10) LONG(11) break;
    case 1: LONG(20) LONG(21) break;
    case 2: LONG(30) LONG(31) break;
    case 3: LONG(40) LONG(41) break;
    case 4: LONG(50) LONG(51) break;
    case 5: LONG(60) LONG(61) break;
    case 6: LONG(70) LONG(71) break;
    case 7: LONG(80) port = helper(x); break;
    }
    return port;
}
INPUTS(0, 1, 2, 3, 4, 5, 6, 7, 8)
