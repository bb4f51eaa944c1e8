//! Heap memory to which the C library keeps pointers.

use std::ptr::NonNull;

/// A value on the heap to which C keeps pointers. Unlike a `Box` it may be moved while they exist.
pub struct PinnedBox<T: ?Sized>(NonNull<T>);

impl<T: ?Sized> PinnedBox<T> {
    /// Takes over a boxed value.
    pub fn from_box(value: Box<T>) -> Self {
        Self(NonNull::from(Box::leak(value)))
    }

    /// Returns the value's address, which never changes.
    pub fn as_ptr(&self) -> *mut T {
        self.0.as_ptr()
    }
}

impl<T> PinnedBox<[T]> {
    /// Makes a slice of `count` default values.
    pub fn zeroed(count: usize) -> Self
    where
        T: Clone + Default,
    {
        Self::from_box(vec![T::default(); count].into_boxed_slice())
    }
}

impl<T: ?Sized> Drop for PinnedBox<T> {
    fn drop(&mut self) {
        // SAFETY: the pointer came from a `Box`, and nothing else frees it.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}
