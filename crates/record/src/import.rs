//! Importing: from a foreign format or a recorder's stream, live or from a file, to a trace file.

use std::path::Path;

use flashpager_base::{Error, Result, named};
use flashpager_trace::{Ending, TraceInfo};

use crate::input::Input;
use crate::placement::arrange::MethodArrangement;
use crate::placement::{Placement, Placer};
use crate::readers::etrace::{
    encapsulated as etrace_encapsulated, esp32 as etrace_esp32, smi as etrace_smi,
};
use crate::readers::{
    csv, din, drmemtrace, execlog, gem5, lackey, perf, qemu_log, renode, spike, tarmac,
};
use crate::recording::Recording;
use crate::region::Region;
use crate::session::{ImportSession, Importer};
use crate::stream;

pub use crate::recording::{ProgressFn, RecordedTrace, RecordingProgress};

/// Bytes of an input by which its format is recognised: logs begin with messages.
const DETECTED_BYTES: usize = 16 << 10;

/// Makes [`ImportFormat`] of the formats' names, modules and descriptions.
macro_rules! importers {
    ($($(#[$doc:meta])+ $name:literal => $module:ident, $format:ident;)+) => {
        /// A format that can be imported.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ImportFormat {
            $($(#[$doc])+ $format,)+
        }

        named! {
            ImportFormat: "unknown format",
            $($name => $format,)+
        }

        impl ImportFormat {
            fn importer(self) -> Importer {
                match self {
                    $(Self::$format => $module::IMPORTER,)+
                }
            }
        }
    };
}

importers! {
    /// The binary stream of our recorders.
    "stream" => stream, Stream;
    /// Text of Valgrind's lackey.
    "lackey" => lackey, Lackey;
    /// Dinero `din` text.
    "din" => din, Din;
    /// CSV with the header `offset,length`.
    "csv" => csv, Csv;
    /// The log of QEMU's `-d in_asm,exec,nochain`.
    "qemu-log" => qemu_log, QemuLog;
    /// The log of QEMU's plugin `execlog`.
    "execlog" => execlog, Execlog;
    /// The log of Spike's `-l` or `--log-commits`.
    "spike" => spike, Spike;
    /// Tarmac text.
    "tarmac" => tarmac, Tarmac;
    /// Text of `perf script --insn-trace`.
    "perf" => perf, Perf;
    /// Text of drmemtrace's tool `view`.
    "drmemtrace" => drmemtrace, DrMemtrace;
    /// The trace of gem5's `Exec,-ExecSymbol`.
    "gem5" => gem5, Gem5;
    /// Renode's execution tracing.
    "renode" => renode, Renode;
    /// E-Trace of RISC-V, in packets of Siemens' messaging infrastructure.
    "etrace" => etrace_smi, Etrace;
    /// E-Trace of RISC-V, in packets of the RISC-V encapsulation.
    "etrace-encapsulated" => etrace_encapsulated, EtraceEncapsulated;
    /// E-Trace of an ESP32-C6 or ESP32-H2.
    "etrace-esp32" => etrace_esp32, EtraceEsp32;
}

impl ImportFormat {
    /// Recognises the format of `input` by its first kilobytes.
    ///
    /// # Errors
    /// If the input cannot be read, is empty, or is in no known format.
    pub fn detect(input: &mut Input) -> Result<Self> {
        let name = input.name.clone();
        let start = input.head(DETECTED_BYTES)?;
        let formats = Self::ALL.iter().map(|(_, format)| *format);
        if let Some(format) =
            formats.into_iter().find(|format| (format.importer().recognises)(start))
        {
            return Ok(format);
        }
        Err(Error::data(
            name,
            if start.is_empty() {
                "is empty"
            } else if start.starts_with(b"PAR1") {
                "is Parquet: if it is a flashpager trace it needs no import"
            } else {
                "is in no known format (lackey, din, csv with the header 'offset,length', a \
                 recorder stream, or a log of QEMU, Spike, Tarmac, perf, drmemtrace, gem5 or \
                 Renode); --format says which"
            },
        ))
    }
}

/// An import or a recording in progress.
pub struct Import {
    recording: Recording,
    /// The process that runs the program, while a recorder without load addresses records it.
    process: Option<u32>,
}

impl Import {
    /// Starts to write the trace file `output`. Without a `placer`, addresses are flash offsets.
    /// `live` recordings reserve disk space so that they can be completed on a full disk.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn new(placer: Option<Placer>, output: &Path, info: TraceInfo, live: bool) -> Result<Self> {
        Ok(Self { recording: Recording::new(placer, output, info, live)?, process: None })
    }

    /// Starts as [`Import::new`] does, with the code placed by `placement`.
    ///
    /// # Errors
    /// If [`Placement::placer`] fails, or a file cannot be written.
    pub fn placing(
        placement: &Placement,
        output: &Path,
        info: TraceInfo,
        live: bool,
    ) -> Result<Self> {
        let mut import = Self::new(placement.placer()?, output, info, live)?;
        import.arrange_as(placement.arrangement());
        Ok(import)
    }

    /// Sets how the methods of a program without files are laid out at the end.
    pub fn arrange_as(&mut self, arrangement: MethodArrangement) {
        self.recording.methods.arrangement = arrangement;
    }

    /// Records only this part of the execution.
    ///
    /// # Errors
    /// If an end of the region lies in no placed code.
    pub fn select(&mut self, region: Region) -> Result<()> {
        self.recording.select(region)
    }

    /// Records the data reads of a foreign format, too. Those of a recorder stream are always
    /// recorded.
    pub fn take_reads(&mut self) {
        self.recording.with_reads = true;
        self.recording.info.reads_recorded = true;
    }

    /// Returns true if the recorded part has ended, so that nothing more will be recorded.
    pub fn is_over(&self) -> bool {
        self.recording.is_over()
    }

    /// Reads load addresses from the mappings of the running process `pid`: the present ones now,
    /// and later ones when code executes that lies in no known mapping.
    ///
    /// # Errors
    /// If the library cannot be placed behind the others.
    pub fn watch_process(&mut self, pid: u32) -> Result<()> {
        self.process = Some(pid);
        match &mut self.recording.placer {
            Some(placer) => placer.load_mappings_of(pid),
            None => Ok(()),
        }
    }

    /// Reads `input` to its end, or until `progress` returns false.
    ///
    /// Returns how the recorded program ended. It was interrupted if `progress` stopped the
    /// import, or if a recorder's stream lacks its end mark.
    ///
    /// # Errors
    /// If the input is damaged or in another format, or reading or writing fails.
    pub fn read(
        &mut self,
        input: Input,
        format: ImportFormat,
        instruction_bytes: u32,
        progress: ProgressFn<'_>,
    ) -> Result<Ending> {
        let Self { recording, process } = self;
        if recording.info.recorder.is_empty() {
            recording.info.recorder = format.name().to_owned();
        }
        let name = input.name.clone();
        let mut session =
            ImportSession::new(recording, *process, &name, instruction_bytes, progress);
        match (format.importer().read)(input, &mut session) {
            Err(Error::Interrupted) if self.recording.is_over() => Ok(Ending::Complete),
            Err(Error::Interrupted) => Ok(Ending::Interrupted),
            outcome => outcome,
        }
    }

    /// Returns true if the disk became full during the import.
    pub fn disk_full(&self) -> bool {
        self.recording.disk_full()
    }

    /// Writes the rest and the descriptions, and gives the files their names: first the requested
    /// file, then those of further threads that executed placed code. `should_continue` is called
    /// while methods are laid out; when it returns false, they keep their places.
    ///
    /// # Errors
    /// If the file cannot be written, or the program is complete and nothing of it was placed.
    /// There is no file then.
    pub fn finish(
        self,
        ending: Ending,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Vec<RecordedTrace>> {
        self.recording.finish(ending, should_continue)
    }
}
