//! The library is empty; the benches are in `benches/`.
