/* The module's parameters. */
#include "device.h"

#include <linux/module.h>

struct fpswap_parameters fpswap_parameters = {
    .medium = "ram",
    .layout = "auto",
    .compressor = "lz4",
    .medium_size = "",
    .disk_size = "",
    .devices = 1,
};

#define PARAMETER(name, type, mode) module_param_named(name, fpswap_parameters.name, type, mode)

PARAMETER(medium, charp, 0644);
MODULE_PARM_DESC(medium, "ram (default), or mtd:NAME or mtd:NUMBER of /proc/mtd");
PARAMETER(format, bool, 0644);
MODULE_PARM_DESC(format, "make an empty store on the MTD, once; its content is lost");
PARAMETER(layout, charp, 0644);
MODULE_PARM_DESC(layout, "fragments where the medium rewrites in place, else log (auto); or rewrite");
PARAMETER(compressor, charp, 0644);
MODULE_PARM_DESC(compressor, "one of the kernel's: lz4 (default), deflate, zstd, ...; or none");
PARAMETER(medium_size, charp, 0644);
MODULE_PARM_DESC(medium_size, "bytes for compressed pages, as 64M; default a quarter of all memory, all of an MTD");
PARAMETER(disk_size, charp, 0644);
MODULE_PARM_DESC(disk_size, "size of the device, as 192M; default three times medium_size");
PARAMETER(reserve, uint, 0644);
MODULE_PARM_DESC(reserve, "log: erase blocks kept free; 0 (default) for as few as possible");
PARAMETER(devices, uint, 0444);
MODULE_PARM_DESC(devices, "devices of this kind, 1 to 16");

static void end_line(char *text)
{
    char *end = strchr(text, '\n');

    if (end)
        *end = '\0';
}

void fpswap_trim_parameters(void)
{
    end_line(fpswap_parameters.medium);
    end_line(fpswap_parameters.layout);
    end_line(fpswap_parameters.compressor);
    end_line(fpswap_parameters.medium_size);
    end_line(fpswap_parameters.disk_size);
}

const char *fpswap_mtd_name(void)
{
    const char *medium = fpswap_parameters.medium;

    return strncmp(medium, "mtd:", 4) == 0 ? medium + 4 : NULL;
}

u64 fpswap_parse_size(const char *text, u64 other)
{
    char *end;
    u64 number, size, back;

    if (!*text)
        return other;
    number = simple_strtoull(text, &end, 0);
    size = memparse(text, &end);
    /* More digits, or a unit, may have overflowed 64 bits. */
    for (back = size; back > number; back >>= 10)
        ;
    return *end || back != number || strlen(text) > 19 ? 0 : size;
}
