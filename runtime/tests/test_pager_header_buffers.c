/* An image with a header, tags and codewords, and a chip with two buffers that loads ahead. */
#define PAGER_TESTS "pager_header_buffers"
#define FP_PAGER_POLICY FP_PAGER_SIEVE
#define FP_PAGER_LOOKUP FP_PAGER_HINT
#define FP_PAGER_REGISTER FP_PAGER_DOUBLE_BUFFER_PREFETCH
#define FP_PAGER_FRAMES 5
#define FP_PAGER_PAGE_BYTES 64
#define FP_PAGER_FLASH_PAGE_BYTES 1024
#define FP_PAGER_CODEWORD_BYTES 256
#define FP_PAGER_IMAGE_BYTES 5000
#define FP_PAGER_HEADER_PAGES 2
#define FP_PAGER_PINNED_PAGES 3
#define FP_PAGER_TAG_BYTES 12
#define FP_PAGER_TAG_AT 4
#include "pager_header.h"
