/*
 * Each open cursor holds its frame, and any context may call. See interface_calls.h.
 *
 * The path of a hit, fp_cursor_byte(), takes no lock. It reads its own cursor alone, and the bytes of a
 * frame that no other call changes: is_held() is 1 from before the window opens until after it is closed.
 */
/* References a page within a call. Returns 0 and its bytes, or an error. */
static inline int reference_page(fp_page page, const uint8_t **bytes)
{
    frame_t frame;
    if (is_pinned(page)) {
        *bytes = pinned_bytes(page);
        return FP_PAGER_OK;
    }
    frame = find_frame(page);
    if (!frame) {
        const int error = fetch_reference(page);
        if (error)
            return error;
        frame = find_frame(page);
    }
    frame--;
    if (is_new_reference(page)) {
        page_hit(frame);
        FP_PAGER_COUNT_(references, 1);
        reference_made(page);
    }
    *bytes = frame_bytes(frame);
    return FP_PAGER_OK;
}

/* Enters the pager and references the page at an offset of the image. Returns 0 with the pager entered, or
 * an error. fp_flash_failed() is called outside, so that others may go on and it may leave by longjmp(). */
static FP_PAGER_OUT_OF_LINE_ int enter_at(fp_offset offset, struct fp_cursor *cursor, const uint8_t **bytes)
{
    const fp_page page = PAGE_AT(offset);
    int error;
    for (;;) {
        error = enter_pager();
        if (error)
            return error;
        if (cursor) {
            error = empty_window(cursor);
            if (error) {
                leave_pager();
                return error;
            }
        }
        error = reference_page(page, bytes);
        if (!error)
            return FP_PAGER_OK;
        leave_pager();
        error = fp_flash_failed(page, error);
        if (error)
            return error;
    }
}

FP_PAGER_API int fp_cursor_turn(struct fp_cursor *cursor)
{
    const fp_offset offset = cursor->next;
    const uint8_t *start;
    int error;
    if (offset >= FP_PAGER_LENGTH_)
        return FP_PAGER_OUTSIDE;
    error = enter_at(offset, cursor, &start);
    if (error)
        return error;
    hold_frame(cursor, PAGE_AT(offset), start);
    cursor->at = start + (offset & (FP_PAGER_PAGE_BYTES - 1u));
    cursor->end = start + FP_PAGER_PAGE_BYTES;
    cursor->next = (fp_offset)((offset | (FP_PAGER_PAGE_BYTES - 1u)) + 1u);
    leave_pager();
    return FP_PAGER_OK;
}

FP_PAGER_API void fp_cursor_close(struct fp_cursor *cursor)
{
    const uint8_t window = cursor->window;
    cursor->next = fp_cursor_tell(cursor);
    cursor->at = cursor->end = NULL;
    cursor->window = 0;
    COMPILER_BARRIER(); /* the cursor reads nothing any more */
    if (window)
        pager.window[window - 1u] = FREE_WINDOW;
}

/* Copies within a call, so that it needs no window. Others may call between two pages. */
FP_PAGER_API int fp_pager_read(uint32_t from, void *to, size_t size)
{
    uint8_t *bytes = to;
    if (from > FP_PAGER_LENGTH_ || size > (fp_offset)(FP_PAGER_LENGTH_ - from))
        return FP_PAGER_OUTSIDE;
    while (size > 0) {
        const fp_offset within = (fp_offset)from & (FP_PAGER_PAGE_BYTES - 1u);
        const size_t rest = (size_t)(FP_PAGER_PAGE_BYTES - within);
        const size_t part = size < rest ? size : rest;
        const uint8_t *start;
        const int error = enter_at((fp_offset)from, NULL, &start);
        if (error)
            return error;
        memcpy(bytes, start + within, part);
        leave_pager();
        bytes += part;
        from += (uint32_t)part;
        size -= part;
    }
    return FP_PAGER_OK;
}
