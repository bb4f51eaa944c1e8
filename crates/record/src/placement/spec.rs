//! The choice of code that goes to flash, for a recording or an import.

use super::arrange::MethodArrangement;
use super::placer::{PlacementOptions, Placer};
use flashpager_base::Result;

/// The code of a program that goes to flash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// The methods that the recorder reports, in this layout. Without methods the addresses are
    /// flash offsets.
    AsRecorded(MethodArrangement),
    /// The addresses from `start` to `end`, without a file.
    Range {
        /// The first address.
        start: u64,
        /// The address behind the last.
        end: u64,
    },
    /// Sections of files.
    Files {
        /// The files and their sections.
        options: PlacementOptions,
        /// Distance of the first file above its linked addresses; the others lie as linked. `None`
        /// if the recorder reports the load addresses.
        bias: Option<u64>,
    },
}

impl Default for Placement {
    fn default() -> Self {
        Self::AsRecorded(MethodArrangement::default())
    }
}

impl Placement {
    /// Makes the placer that finds code in flash; `None` if addresses are flash offsets.
    ///
    /// # Errors
    /// If the range is empty or over 4 GiB, or [`Placer::new`] fails.
    pub fn placer(&self) -> Result<Option<Placer>> {
        match self {
            Self::AsRecorded(_) => Ok(None),
            Self::Range { start, end } => Placer::for_range(*start, *end).map(Some),
            Self::Files { options, bias } => {
                let mut placer = Placer::new(options.clone())?;
                if let Some(bias) = bias {
                    placer.load_program_at(*bias);
                    placer.load_as_linked();
                }
                Ok(Some(placer))
            }
        }
    }

    /// The layout of the methods that a recorder reports.
    pub fn arrangement(&self) -> MethodArrangement {
        match self {
            Self::AsRecorded(arrangement) => arrangement.clone(),
            Self::Range { .. } | Self::Files { .. } => MethodArrangement::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_named_is_placed() {
        assert!(Placement::default().placer().unwrap().is_none());
        let range = Placement::Range { start: 0x8000, end: 0x9000 };
        let placed = range.placer().unwrap().unwrap().locate(0x8010).unwrap();
        assert_eq!((placed.offset, placed.bytes), (0x10, 0xff0));
        assert!(Placement::Range { start: 2, end: 2 }.placer().is_err());
        assert_eq!(
            PlacementOptions::of(Vec::new(), Vec::new(), false),
            PlacementOptions::default()
        );
    }
}
