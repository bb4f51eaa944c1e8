//! Nothing but benches, in `benches/`.
