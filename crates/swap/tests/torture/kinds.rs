//! Kinds of faults of a medium, each with a flag.

/// A set of kinds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FaultKinds(pub u32);

pub const CUT: FaultKinds = FaultKinds(1);
pub const TORN: FaultKinds = FaultKinds(2);
pub const ERASE: FaultKinds = FaultKinds(4);
pub const UNSTABLE: FaultKinds = FaultKinds(8);
pub const PROGRAM_FAILURE: FaultKinds = FaultKinds(16);
pub const ERASE_FAILURE: FaultKinds = FaultKinds(32);
pub const BAD_BLOCKS: FaultKinds = FaultKinds(64);
pub const CORRECTED: FaultKinds = FaultKinds(128);
pub const TRANSIENT: FaultKinds = FaultKinds(256);
pub const BLACKOUT: FaultKinds = FaultKinds(512);
pub const UNREADABLE: FaultKinds = FaultKinds(1024);
pub const FORMAT: FaultKinds = FaultKinds(2048);

/// Names of the kinds, in the order of their bits.
pub const NAMES: [&str; 12] = [
    "cut",
    "torn",
    "erase",
    "unstable",
    "program-failure",
    "erase-failure",
    "bad-blocks",
    "corrected",
    "transient",
    "blackout",
    "unreadable",
    "format",
];

impl FaultKinds {
    pub fn has(self, kind: Self) -> bool {
        self.0 & kind.0 != 0
    }

    pub fn with(self, kind: Self) -> Self {
        Self(self.0 | kind.0)
    }

    pub fn list(self) -> String {
        let names: Vec<&str> =
            (0..NAMES.len()).filter(|bit| self.0 & (1 << bit) != 0).map(|bit| NAMES[bit]).collect();
        names.join(",")
    }
}
