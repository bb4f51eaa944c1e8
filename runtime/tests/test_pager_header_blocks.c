/* An image whose header lies in two erase blocks, with bad ones before and between them. */
#define PAGER_TESTS "pager_header_blocks"
#define FP_PAGER_POLICY FP_PAGER_FIFO
#define FP_PAGER_LOOKUP FP_PAGER_TABLE
#define FP_PAGER_REGISTER FP_PAGER_START_COLUMN
#define FP_PAGER_FRAMES 4
#define FP_PAGER_PAGE_BYTES 16
#define FP_PAGER_FLASH_PAGE_BYTES 32
#define FP_PAGER_IMAGE_BYTES 160
#define FP_PAGER_PINNED_PAGES 3
#define FP_PAGER_BLOCK_PAGES 1
#define FP_PAGER_BAD_BLOCKS 2
#include "pager_header.h"
