//! The description of a trace.

use flashpager_base::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::blocks::{BlockCounts, PAGE_BYTES};
use crate::gaps::{Gap, refuse_gaps, windows};
use crate::image::{Image, Symbol};
use crate::warm_up::WarmUp;

/// Version of the trace file's layout without data reads, in [`TraceInfo::schema_version`].
pub const SCHEMA_VERSION: u32 = 1;

/// Version of the layout with data reads.
pub const SCHEMA_VERSION_WITH_READS: u32 = 2;

/// Version of the layout with gaps. Data reads may be among its runs.
pub const SCHEMA_VERSION_WITH_GAPS: u32 = 3;

/// How a recording ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// The program ended by itself with exit status 0, or the file was imported whole.
    Complete,
    /// The log of another tool, read to its end. It cannot tell whether the program went on.
    AsCaptured,
    /// The program ended with this exit status or by this signal.
    Failed(String),
    /// The recording was stopped.
    Interrupted,
    /// The disk was full.
    DiskFull,
}

impl Ending {
    /// Returns the name of the kind, as in the trace file.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::AsCaptured => "as-captured",
            Self::Failed(_) => "failed",
            Self::Interrupted => "interrupted",
            Self::DiskFull => "disk-full",
        }
    }
}

impl std::fmt::Display for Ending {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Failed(reason) => write!(out, "{}: {reason}", self.name()),
            Self::AsCaptured => out.write_str("as captured"),
            _ => out.write_str(self.name()),
        }
    }
}

/// A file with executed code that is not placed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutsideFile {
    /// Path of the file.
    pub path: String,
    /// Instructions executed in it.
    pub instructions: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The description of a trace, which its file holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceInfo {
    /// Version of the file's layout, [`SCHEMA_VERSION`], [`SCHEMA_VERSION_WITH_READS`]
    /// or [`SCHEMA_VERSION_WITH_GAPS`].
    pub schema_version: u32,
    /// Path of the program, or of the imported file.
    pub program: String,
    /// Arguments of the program.
    pub arguments: Vec<String>,
    /// Instruction set, as QEMU spells it (`x86_64`, `arm`); empty if unknown.
    pub architecture: String,
    /// GNU build id of the program in hexadecimal; empty if it has none.
    pub build_id: String,
    /// The recorder, such as `qemu`, or the imported format.
    pub recorder: String,
    /// Version of the recorder; empty if unknown.
    pub recorder_version: String,
    /// How the recording ended.
    pub ending: Ending,
    /// The code in flash, sorted by offset.
    pub images: Vec<Image>,
    /// Bytes of the flash image.
    pub image_bytes: u64,
    /// Runs in the file.
    pub runs: u64,
    /// The recorder reported data reads, though there may be none.
    #[serde(default)]
    pub reads_recorded: bool,
    /// Number of runs that are data reads, not executed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reads: u64,
    /// Bytes of the data reads.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub read_bytes: u64,
    /// Number of executed runs that continue one that a data read cut.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub continued: u64,
    /// Places at which executed code is missing, ascending; empty in a trace without gaps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<Gap>,
    /// Placed instructions executed; absent if the format does not count them.
    pub instructions: Option<u64>,
    /// Bytes of all runs.
    pub bytes: u64,
    /// Instructions executed outside the placed code, which are not in the runs; absent if the
    /// recorder does not count them.
    pub outside_instructions: Option<u64>,
    /// Bytes fetched by these instructions.
    pub outside_bytes: u64,
    /// Methods entered; absent if the recorder does not count them.
    #[serde(default)]
    pub calls: Option<u64>,
    /// Methods left by a return; absent if the recorder does not count them.
    #[serde(default)]
    pub returns: Option<u64>,
    /// Name of the executed thread; empty if the recorder does not distinguish threads.
    #[serde(default)]
    pub thread: String,
    /// Name of the executed process, if it is a further one; empty for the first.
    #[serde(default)]
    pub process: String,
    /// Code that was executed and not recorded, each with the reason.
    #[serde(default)]
    pub left_out: Vec<String>,
    /// The recorded part of the execution, in words; empty if it is all.
    #[serde(default)]
    pub region: String,
    /// Instructions executed before the recorded part, or between its parts.
    #[serde(default)]
    pub beside_instructions: u64,
    /// Files with executed code that is not placed, the one with most instructions first; empty if
    /// the recorder does not report them.
    #[serde(default)]
    pub outside_files: Vec<OutsideFile>,
    /// Executed blocks that are counted whole and may have been cut short; absent if the recorder
    /// does not count them.
    #[serde(default)]
    pub in_doubt: Option<u64>,
    /// The first runs, which fill a cache and are not counted. Set for a replay; never in a file.
    #[serde(default, skip_serializing_if = "WarmUp::is_none")]
    pub warm_up: WarmUp,
    /// Counts of basic blocks; absent if they were not counted while the trace was written.
    #[serde(default)]
    pub blocks: Option<BlockCounts>,
}

impl TraceInfo {
    /// Returns the share of the bytes that is counted, between 0 and 1.
    pub fn counted_share(&self) -> f64 {
        let counted = self.bytes.saturating_sub(self.warm_up.bytes);
        if self.warm_up.is_none() { 1.0 } else { counted as f64 / self.bytes.max(1) as f64 }
    }

    /// Returns true if the trace begins where its program begins. A part of a run may do so, too:
    /// one that has a limit of instructions and nothing else.
    pub fn has_start(&self) -> bool {
        // Formats without instructions do not count those before the recorded part.
        let is_counted = self.instructions.is_some();
        self.region.is_empty() || (is_counted && self.beside_instructions == 0)
    }

    /// Returns true if the processor of the program can execute code from RAM. An AVR cannot: its
    /// instructions and its RAM have address spaces of their own.
    pub fn executes_from_ram(&self) -> bool {
        self.architecture != "avr"
    }

    /// Returns the number of executed runs, with those that data reads cut joined again.
    pub fn executed_runs(&self) -> u64 {
        self.runs.saturating_sub(self.reads).saturating_sub(self.continued)
    }

    /// Returns the number of executed bytes.
    pub fn executed_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.read_bytes)
    }

    /// Returns the windows between the gaps, as ranges of numbers of runs.
    pub fn windows(&self) -> impl Iterator<Item = std::ops::Range<u64>> + '_ {
        windows(&self.gaps, self.runs)
    }

    /// Refuses a trace with gaps for a reader that needs all that ran. `place` is its file.
    ///
    /// # Errors
    /// If the trace has gaps.
    pub fn refuse_gaps(&self, place: &str) -> Result<()> {
        refuse_gaps(place, &self.gaps)
    }

    /// Refuses a trace with data reads for a `reader` that would take them for code. `place` is its
    /// file.
    ///
    /// # Errors
    /// If the trace has data reads.
    pub fn refuse_reads(&self, place: &str, reader: &str) -> Result<()> {
        if self.reads == 0 {
            return Ok(());
        }
        let message = format!(
            "holds {} data reads, which {reader} would take for code; record it with --no-reads",
            self.reads
        );
        Err(Error::data(place, message))
    }

    /// Returns true if a trace with this description can have these counts of blocks. Whether they
    /// are its own is known only when they are counted again.
    pub(crate) fn can_have(&self, blocks: &BlockCounts) -> bool {
        let BlockCounts { used_blocks, used_bytes, executed_blocks, ref used_pages, .. } = *blocks;
        let sizes = PAGE_BYTES.map(u64::from);
        let pages_fit = used_pages.len() == sizes.len()
            && used_pages
                .windows(2)
                .all(|pair| pair[1] <= pair[0] && pair[0] <= pair[1].saturating_mul(2))
            && used_pages.iter().zip(sizes).all(|(pages, size)| {
                *pages <= self.image_bytes.div_ceil(size)
                    && pages.saturating_mul(size) >= used_bytes
            });
        let jumps_fit = match (blocks.seen_calls, blocks.seen_returns) {
            (Some(calls), Some(returns)) => returns <= calls && calls <= self.executed_runs(),
            (None, None) => true,
            _ => false,
        };
        let hottest_fits = blocks
            .hottest
            .as_ref()
            .is_none_or(|hottest| hottest.fits(self.image_bytes, self.executed_bytes()));
        pages_fit
            && jumps_fit
            && hottest_fits
            && (used_blocks > 0) == (self.executed_runs() > 0)
            && used_blocks <= used_bytes
            && used_bytes <= self.image_bytes.min(self.executed_bytes())
            && (self.executed_runs()..=self.executed_bytes()).contains(&executed_blocks)
    }

    /// Returns the symbols of all images.
    pub fn symbols(&self) -> impl Iterator<Item = &Symbol> + Clone {
        self.images.iter().flat_map(|image| &image.symbols)
    }
}

impl Default for TraceInfo {
    fn default() -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            program: String::new(),
            arguments: Vec::new(),
            architecture: String::new(),
            build_id: String::new(),
            recorder: String::new(),
            recorder_version: String::new(),
            ending: Ending::Complete,
            images: Vec::new(),
            image_bytes: 0,
            runs: 0,
            reads_recorded: false,
            reads: 0,
            read_bytes: 0,
            continued: 0,
            gaps: Vec::new(),
            instructions: None,
            bytes: 0,
            outside_instructions: Some(0),
            outside_bytes: 0,
            calls: None,
            returns: None,
            thread: String::new(),
            process: String::new(),
            left_out: Vec::new(),
            region: String::new(),
            beside_instructions: 0,
            outside_files: Vec::new(),
            in_doubt: None,
            warm_up: WarmUp::default(),
            blocks: None,
        }
    }
}

/// Makes the error for a trace in which nothing can be replayed. `place` is its file or program.
pub fn nothing_placed(place: &str, info: &TraceInfo) -> Error {
    let message = match info.outside_instructions {
        None if !info.left_out.is_empty() => {
            let more = info.left_out.len() - 1;
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            format!("executed nothing that could be recorded: {}{more}", info.left_out[0])
        }
        None => "executed nothing that is recorded; choose classes with --include, as 'com.acme.*'"
            .to_owned(),
        Some(0) => "holds no run".to_owned(),
        Some(outside) => format!(
            "no instruction lies in the placed code ({outside} lie outside); choose other code \
             with --section, --with-libraries or --image"
        ),
    };
    Error::data(place, message)
}
