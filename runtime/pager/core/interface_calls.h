/* The interface without an MMU: pages and cursors. Its manual is flashpager_pager.h. */
/* Fetches a page that is in no frame. A fetch that fails, or leaves by longjmp(), parts the
 * references before and after it. */
static OUT_OF_LINE const uint8_t *miss(fp_page page)
{
    part_references();
    pager.error = fetch_page(page);
    if (pager.error)
        return NULL;
    reference_made(page);
    COUNT(references, 1);
    COUNT(misses, 1);
    return fp_pager_page(page);
}

static OUT_OF_LINE const uint8_t *outside(void)
{
    pager.error = FP_PAGER_OUTSIDE;
    return NULL;
}

FP_PAGER_API const uint8_t *fp_pager_page(fp_page page)
{
    frame_t frame;
    if (page >= FP_PAGER_PAGES)
        return outside();
    if (is_pinned(page))
        return pinned_bytes(page);
    frame = find_frame(page);
    if (!frame--)
        return miss(page);
    if (is_new_reference(page)) {
        page_hit(frame);
        COUNT(references, 1);
        reference_made(page);
    }
    return frame_bytes(frame);
}

FP_PAGER_API int fp_pager_error(void)
{
    return pager.error;
}

#if FP_PAGER_CURSORS > 1
/* Closes the cursor that is open, unless it is this one: its frame may get another page. */
static inline void close_other_cursor(struct fp_cursor *cursor)
{
    if (pager.open_cursor && pager.open_cursor != cursor)
        fp_cursor_close(pager.open_cursor);
    pager.open_cursor = NULL;
}

static inline void cursor_opened(struct fp_cursor *cursor)
{
    pager.open_cursor = cursor;
}

static inline void cursor_closed(struct fp_cursor *cursor)
{
    if (pager.open_cursor == cursor)
        pager.open_cursor = NULL;
}
#else
static inline void close_other_cursor(struct fp_cursor *cursor)
{
    (void)cursor;
}

static inline void cursor_opened(struct fp_cursor *cursor)
{
    (void)cursor;
}

static inline void cursor_closed(struct fp_cursor *cursor)
{
    (void)cursor;
}
#endif

FP_PAGER_API int fp_cursor_turn(struct fp_cursor *cursor)
{
    const fp_offset offset = cursor->next;
    const fp_offset within = offset & (FP_PAGER_PAGE_BYTES - 1u);
    const uint8_t *start;
    close_other_cursor(cursor);
    /* If the page cannot be read, or the port leaves by longjmp(), there is no window. */
    cursor->at = cursor->end = NULL;
    if (offset >= FP_PAGER_IMAGE_BYTES)
        return FP_PAGER_OUTSIDE;
    start = fp_pager_page(PAGE_AT(offset));
    if (!start)
        return pager.error;
    cursor->at = start + within;
    cursor->end = start + FP_PAGER_PAGE_BYTES;
    cursor->next = (fp_offset)((offset | (FP_PAGER_PAGE_BYTES - 1u)) + 1u);
    cursor_opened(cursor);
    return FP_PAGER_OK;
}

FP_PAGER_API void fp_cursor_close(struct fp_cursor *cursor)
{
    cursor->next = fp_cursor_tell(cursor);
    cursor->at = cursor->end = NULL;
    cursor_closed(cursor);
}

#if FP_PAGER_CURSORS > 1
FP_PAGER_API int fp_pager_read(uint32_t from, void *to, size_t size)
{
    struct fp_cursor cursor = {NULL, NULL, 0};
    uint8_t *bytes = to;
    int error = FP_PAGER_OK;
    if (from > FP_PAGER_IMAGE_BYTES || size > (size_t)(FP_PAGER_IMAGE_BYTES - from))
        return FP_PAGER_OUTSIDE;
    cursor.next = (fp_offset)from;
    while (size > 0) {
        size_t window_bytes;
        error = fp_cursor_turn(&cursor);
        if (error)
            break;
        window_bytes = (size_t)(cursor.end - cursor.at);
        if (window_bytes > size)
            window_bytes = size;
        memcpy(bytes, cursor.at, window_bytes);
        cursor.at += window_bytes;
        bytes += window_bytes;
        size -= window_bytes;
    }
    fp_cursor_close(&cursor);
    return error;
}
#endif
