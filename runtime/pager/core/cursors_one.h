/* One window is open at a time, and one context calls. See interface_calls.h. */
static const uint8_t *page_bytes(fp_page page);

static FP_PAGER_OUT_OF_LINE_ const uint8_t *refuse(int error)
{
    pager.error = error;
    return NULL;
}

#if FP_PAGER_CURSORS > 1
/* Closes the cursor that is open, unless it is this one: its frame may get another page. */
static inline void close_other_cursor(const struct fp_cursor *cursor)
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
static inline void close_other_cursor(const struct fp_cursor *cursor)
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

static FP_PAGER_OUT_OF_LINE_ const uint8_t *miss(fp_page page)
{
    int error;
    set_serving(1);
    error = fetch_reference(page);
    set_serving(0);
    if (!error)
        return page_bytes(page);
    /* Everything is as before the reference: fp_flash_failed() may leave by longjmp(). */
    error = fp_flash_failed(page, error);
    if (error)
        return refuse(error);
    close_other_cursor(NULL); /* one that fp_flash_failed() opened */
    return page_bytes(page);
}

static const uint8_t *page_bytes(fp_page page)
{
    frame_t frame;
    if (is_pinned(page))
        return pinned_bytes(page);
    frame = find_frame(page);
    if (!frame--)
        return miss(page);
    if (is_new_reference(page)) {
        page_hit(frame);
        FP_PAGER_COUNT_(references, 1);
        reference_made(page);
    }
    return frame_bytes(frame);
}

FP_PAGER_API const uint8_t *fp_pager_page(fp_page page)
{
    if (page >= IMAGE_PAGES)
        return refuse(FP_PAGER_OUTSIDE);
    if (is_refused_call())
        return refuse(FP_PAGER_BUSY);
    close_other_cursor(NULL);
    return page_bytes(page);
}

FP_PAGER_API int fp_cursor_turn(struct fp_cursor *cursor)
{
    const fp_offset offset = cursor->next;
    const fp_offset within = offset & (FP_PAGER_PAGE_BYTES - 1u);
    const uint8_t *start;
    /* Before any cursor is touched: the other context may be taking a byte right now. */
    if (is_refused_call())
        return FP_PAGER_BUSY;
    close_other_cursor(cursor);
    /* If the page cannot be read, or the port leaves by longjmp(), there is no window. */
    cursor->at = cursor->end = NULL;
    if (offset >= FP_PAGER_LENGTH_)
        return FP_PAGER_OUTSIDE;
    start = page_bytes(PAGE_AT(offset));
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
    if (from > FP_PAGER_LENGTH_ || size > (fp_offset)(FP_PAGER_LENGTH_ - from))
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
