/* An image with a header of two flash pages, in a chip that is read at any address; without tags. */
#define PAGER_TESTS "pager_header_nor"
#define FP_PAGER_POLICY FP_PAGER_LRU
#define FP_PAGER_LOOKUP FP_PAGER_SCAN
#define FP_PAGER_REGISTER FP_PAGER_START_COLUMN
#define FP_PAGER_FRAMES 3
#define FP_PAGER_PAGE_BYTES 32
#define FP_PAGER_FLASH_PAGE_BYTES 32
#define FP_PAGER_IMAGE_BYTES 2000
#define FP_PAGER_WINDOWS 0
#include "pager_header.h"
