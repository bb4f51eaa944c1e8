/* The functions that compilers call for copies, under the names of ARM's ABI, too. */
#include "case.h"

void *memcpy(void *to, const void *from, __SIZE_TYPE__ bytes)
{
    for (__SIZE_TYPE__ at = 0; at < bytes; at++)
        ((volatile byte *)to)[at] = ((const byte *)from)[at];
    return to;
}

void *memmove(void *to, const void *from, __SIZE_TYPE__ bytes)
{
    if ((word)to <= (word)from)
        return memcpy(to, from, bytes);
    while (bytes-- > 0)
        ((volatile byte *)to)[bytes] = ((const byte *)from)[bytes];
    return to;
}

void *memset(void *to, int value, __SIZE_TYPE__ bytes)
{
    for (__SIZE_TYPE__ at = 0; at < bytes; at++)
        ((volatile byte *)to)[at] = (byte)value;
    return to;
}

#ifdef __arm__
void __aeabi_memcpy(void *to, const void *from, __SIZE_TYPE__ bytes)
{
    memcpy(to, from, bytes);
}

void __aeabi_memset(void *to, __SIZE_TYPE__ bytes, int value)
{
    memset(to, value, bytes);
}

void __aeabi_memclr(void *to, __SIZE_TYPE__ bytes)
{
    memset(to, 0, bytes);
}

#define AS(name, of) __typeof__(of) name __attribute__((alias(#of)))
AS(__aeabi_memcpy4, __aeabi_memcpy);
AS(__aeabi_memcpy8, __aeabi_memcpy);
AS(__aeabi_memset4, __aeabi_memset);
AS(__aeabi_memset8, __aeabi_memset);
AS(__aeabi_memclr4, __aeabi_memclr);
AS(__aeabi_memclr8, __aeabi_memclr);
#endif
