/* An image with a header and tags in a NAND with bad blocks. */
#define PAGER_TESTS "pager_header_tags"
#define FP_PAGER_POLICY FP_PAGER_CLOCK
#define FP_PAGER_LOOKUP FP_PAGER_TABLE
#define FP_PAGER_REGISTER FP_PAGER_RANDOM_COLUMN
#define FP_PAGER_FRAMES 4
#define FP_PAGER_PAGE_BYTES 64
#define FP_PAGER_FLASH_PAGE_BYTES 1024
#define FP_PAGER_IMAGE_BYTES 6000
#define FP_PAGER_BLOCK_PAGES 2
#define FP_PAGER_BAD_BLOCKS 2
#define FP_PAGER_TAG_BYTES 8
#define FP_PAGER_TAG_AT 2
#include "pager_header.h"
