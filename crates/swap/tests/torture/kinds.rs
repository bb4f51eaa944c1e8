//! What may happen to a medium, each with a flag.

/// A set of kinds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Kinds(pub u32);

pub const CUT: Kinds = Kinds(1);
pub const TORN: Kinds = Kinds(2);
pub const ERASE: Kinds = Kinds(4);
pub const UNSTABLE: Kinds = Kinds(8);
pub const PROGRAM_FAILURE: Kinds = Kinds(16);
pub const ERASE_FAILURE: Kinds = Kinds(32);
pub const BAD_BLOCKS: Kinds = Kinds(64);
pub const CORRECTED: Kinds = Kinds(128);
pub const TRANSIENT: Kinds = Kinds(256);
pub const BLACKOUT: Kinds = Kinds(512);
pub const UNREADABLE: Kinds = Kinds(1024);

/// Their names, in the order of their bits.
pub const NAMES: [&str; 11] = [
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
];

impl Kinds {
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
