//! Memory that the C library keeps pointers to.

use std::ptr::NonNull;

/// A value on the heap that C keeps pointers to: unlike a `Box`, moving it claims nothing.
pub struct PinnedBox<T: ?Sized>(NonNull<T>);

impl<T: ?Sized> PinnedBox<T> {
    /// Take over a value.
    pub fn from_box(value: Box<T>) -> Self {
        Self(NonNull::from(Box::leak(value)))
    }

    /// Where it is.
    pub fn as_ptr(&self) -> *mut T {
        self.0.as_ptr()
    }
}

impl<T> PinnedBox<[T]> {
    /// So many values, all as by default.
    pub fn zeroed(count: usize) -> Self
    where
        T: Clone + Default,
    {
        Self::from_box(vec![T::default(); count].into_boxed_slice())
    }
}

impl<T: ?Sized> Drop for PinnedBox<T> {
    fn drop(&mut self) {
        // SAFETY: it came from a `Box`, and nobody else frees it.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}
