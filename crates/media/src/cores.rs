//! Processor cores, and cores at a clock.
//!
//! Each core is a TOML file in `cores/`. Every number there has a source.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::OnceLock;

use flashpager_base::{Error, Result, did_you_mean};
use include_dir::{Dir, include_dir};
use serde::{Deserialize, Serialize};

use crate::datasheet::Sourced;
use crate::part;

static CATALOG: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../cores");

/// The architecture of traces of Java programs, which count bytecodes.
const BYTECODES: &str = "jvm";

/// The longest chain of cores that borrow the fault path from one another.
const MAX_STEPS: usize = 4;

/// The highest clock of a processor.
const MAX_CLOCK_MHZ: f64 = 100_000.0;
/// The most clocks of an instruction, on average.
const MAX_CYCLES_PER_INSTRUCTION: f64 = 1000.0;

/// A processor core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Core {
    /// The name, in small letters.
    pub name: String,
    /// The designer.
    pub maker: String,
    /// A hint to read before using the numbers.
    pub note: Option<String>,
    /// The architecture whose instructions it executes, by its name in a trace, such as `arm`.
    pub architecture: Option<String>,
    /// Clocks of an instruction on average, from memory without wait states.
    pub cycles_per_instruction: Sourced<f64>,
    /// Architectures whose traces this core is assumed to execute if no processor is named. An
    /// architecture is in the list of one core at most.
    #[serde(default)]
    pub usual_for: Vec<String>,
    /// The clock that is assumed together with this core; `None` if the core is never assumed.
    pub usual_clock_mhz: Option<Sourced<f64>>,
    /// The core whose fault path supplies the jobs that were not measured on this one.
    pub fault_path_like: Option<String>,
    /// The software of a fault and of a lookup.
    #[serde(default)]
    pub fault_path: FaultPath,
}

/// The costs of the fault path's jobs, by the names of a board's `[handler]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultPath {
    /// The lookup of each reference to the page cache.
    pub lookup: Option<JobCost>,
    /// The start of each true fault: saving registers, finding the page in flash.
    pub pre_process: Option<JobCost>,
    /// Finding a frame, without the search.
    pub get_freeframe: Option<JobCost>,
    /// Each frame examined by the search.
    pub walk_step: Option<JobCost>,
    /// Each page moved from valid to invalid.
    pub downgrade: Option<JobCost>,
    /// The update of page table and TLB.
    pub update_mmu: Option<JobCost>,
    /// Restoring registers.
    pub post_process: Option<JobCost>,
    /// Each false fault.
    pub false_fault: Option<JobCost>,
    /// The copy of a byte into its frame, beside the flash's bus.
    pub copy_byte: Option<JobCost>,
}

impl FaultPath {
    fn jobs(&self) -> [(&'static str, Option<&JobCost>); 9] {
        [
            ("lookup", self.lookup.as_ref()),
            ("pre_process", self.pre_process.as_ref()),
            ("get_freeframe", self.get_freeframe.as_ref()),
            ("walk_step", self.walk_step.as_ref()),
            ("downgrade", self.downgrade.as_ref()),
            ("update_mmu", self.update_mmu.as_ref()),
            ("post_process", self.post_process.as_ref()),
            ("false_fault", self.false_fault.as_ref()),
            ("copy_byte", self.copy_byte.as_ref()),
        ]
    }
}

/// The cost of a job, in either cycles or instructions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobCost {
    /// Clocks.
    pub cycles: Option<f64>,
    /// Instructions. Each takes the core's average clocks.
    pub instructions: Option<f64>,
    /// The document from which the number was read, and where in it.
    pub source: String,
}

/// The cost of a job of the fault path on a core, in clocks of that core.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FaultPathJob {
    /// The name, as in a board's `[handler]` without the unit, or `copy_byte`.
    pub name: &'static str,
    /// Clocks.
    pub cycles: f64,
    /// The document from which the number was read, and where in it.
    pub source: String,
    /// The core it was measured on.
    pub measured_on: String,
}

impl Core {
    /// Parses and checks the text of a core's file; `place` names the file in errors.
    ///
    /// # Errors
    /// If the text is no core, with the file and the field.
    pub fn parse(text: &str, place: &str) -> Result<Self> {
        let core: Self = toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| text[..span.start].matches('\n').count() + 1);
            let at = line.map_or(String::new(), |line| format!(", line {line}"));
            Error::data(format!("{place}{at}"), format!("no core: {}", error.message()))
        })?;
        core.check().map_err(|message| Error::data(place, message))?;
        Ok(core)
    }

    fn check(&self) -> std::result::Result<(), String> {
        let within = |name: &str, value: f64, most: f64| {
            if value > 0.0 && value <= most {
                return Ok(());
            }
            Err(format!("{name} = {value} is not above 0 and at most {most}"))
        };
        let cycles = self.cycles_per_instruction.value;
        within("cycles_per_instruction", cycles, MAX_CYCLES_PER_INSTRUCTION)?;
        match &self.usual_clock_mhz {
            Some(clock) => within("usual_clock_mhz", clock.value, MAX_CLOCK_MHZ)?,
            None if self.usual_for.is_empty() => {}
            None => return Err("usual_for needs usual_clock_mhz".into()),
        }
        for (name, job) in self.fault_path.jobs() {
            let Some(job) = job else { continue };
            let ((Some(number), None) | (None, Some(number))) = (job.cycles, job.instructions)
            else {
                return Err(format!(
                    "[fault_path] {name} needs cycles or instructions, one of them"
                ));
            };
            if !(0.0..=1e9).contains(&number) {
                return Err(format!("[fault_path] {name} = {number} is not between 0 and 1e9"));
            }
        }
        Ok(())
    }

    /// The costs of the fault path on this core. A job that was not measured on it takes as many
    /// instructions as on the core it is like.
    ///
    /// # Errors
    /// If the core it is like is unknown, or the chain of such cores is too long.
    pub fn jobs(&self) -> Result<Vec<FaultPathJob>> {
        self.jobs_within(MAX_STEPS)
    }

    fn jobs_within(&self, steps: usize) -> Result<Vec<FaultPathJob>> {
        let per_instruction = self.cycles_per_instruction.value;
        let borrowed = match (&self.fault_path_like, steps) {
            (None, _) => Vec::new(),
            (Some(_), 0) => {
                let message =
                    format!("{}: fault_path_like leads from core to core to core", self.name);
                return Err(Error::design(message));
            }
            (Some(like), _) => {
                let like = find(like)?;
                let ratio = per_instruction / like.cycles_per_instruction.value;
                let mut jobs = like.jobs_within(steps - 1)?;
                jobs.iter_mut().for_each(|job| job.cycles *= ratio);
                jobs
            }
        };
        let fault_path_job = |(name, own): (&'static str, Option<&JobCost>)| match own {
            None => borrowed.iter().find(|job| job.name == name).cloned(),
            Some(own) => Some(FaultPathJob {
                name,
                cycles: own
                    .cycles
                    .unwrap_or_else(|| own.instructions.unwrap_or_default() * per_instruction),
                source: own.source.clone(),
                measured_on: self.name.clone(),
            }),
        };
        Ok(self.fault_path.jobs().into_iter().filter_map(fault_path_job).collect())
    }
}

/// All cores of the catalog, in the order of their names.
///
/// # Errors
/// If a file of the catalog holds no core, which tests exclude.
pub fn catalog() -> Result<&'static [Core]> {
    static CORES: OnceLock<Vec<Core>> = OnceLock::new();
    match CORES.get() {
        Some(cores) => Ok(cores),
        None => {
            let cores = parse_catalog()?;
            Ok(CORES.get_or_init(|| cores))
        }
    }
}

fn parse_catalog() -> Result<Vec<Core>> {
    let mut cores = CATALOG
        .files()
        .filter(|file| file.path().extension().is_some_and(|extension| extension == "toml"))
        .map(|file| {
            let place = format!("cores/{}", file.path().display());
            Core::parse(file.contents_utf8().unwrap_or_default(), &place)
        })
        .collect::<Result<Vec<Core>>>()?;
    cores.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(cores)
}

/// Finds the core of this name in the catalog, or reads it from a path that ends in `.toml`.
///
/// # Errors
/// If the name is unknown, or the file holds no core.
pub fn find(name: &str) -> Result<Core> {
    if name.ends_with(".toml") {
        return Core::parse(&part::read(Path::new(name))?, name);
    }
    let cores = catalog()?;
    if let Some(core) = cores.iter().find(|core| core.name.eq_ignore_ascii_case(name)) {
        return Ok(core.clone());
    }
    let near = did_you_mean(name, cores.iter().map(|core| core.name.as_str()));
    let names: Vec<&str> = cores.iter().map(|core| core.name.as_str()).collect();
    Err(Error::design(format!(
        "unknown core '{name}'{near} (known: {}; or a core's TOML file)",
        names.join(", ")
    )))
}

/// The core that is assumed if no core is usual for the trace's architecture.
const STAND_IN: &str = "cortex-m3";

/// A processor that is assumed for a trace if none is named.
#[derive(Clone, Debug, PartialEq)]
pub struct UsualProcessor {
    /// The processor.
    pub processor: ClockedCore,
    /// The rule that chose it, in a few words.
    pub reason: String,
}

/// The processor that is assumed for a trace of `architecture`, which may be empty.
///
/// # Errors
/// If a file of the catalog holds no core, which tests exclude.
pub fn usual(architecture: &str) -> Result<UsualProcessor> {
    let cores = catalog()?;
    let own = cores.iter().find(|core| core.usual_for.iter().any(|usual| usual == architecture));
    let reason = match (own, architecture) {
        (Some(_), BYTECODES) => "an interpreter of bytecode: docs/processor.md".into(),
        (Some(_), _) => format!("usual for {architecture}"),
        (None, "") => "the trace names no architecture".into(),
        (None, _) => format!("in place of a core of {architecture}, which cores/ lacks"),
    };
    let core = match own {
        Some(core) => core.clone(),
        None => find(STAND_IN)?,
    };
    let clock_mhz = core.usual_clock_mhz.as_ref().map_or(1.0, |clock| clock.value);
    Ok(UsualProcessor { processor: ClockedCore::new(&core.name, clock_mhz, None)?, reason })
}

/// A core at a clock, written `cortex-m3@64MHz`, or `cortex-m3(1.25)@64MHz` with the clocks of an
/// instruction if they are known better.
#[derive(Clone, Debug, PartialEq)]
pub struct ClockedCore {
    /// The core.
    pub core: Core,
    /// The name as given.
    name: String,
    /// Clock in MHz.
    pub clock_mhz: f64,
    /// Clocks of an instruction that the user gave; `None` for the core's own.
    own_cycles_per_instruction: Option<f64>,
}

impl ClockedCore {
    /// Finds a core by its name or file and sets its clock, and the clocks of an instruction if
    /// they are given.
    ///
    /// # Errors
    /// If the core is unknown, or a number is impossible.
    pub fn new(name: &str, clock_mhz: f64, cycles_per_instruction: Option<f64>) -> Result<Self> {
        let core = find(name)?;
        if !(clock_mhz > 0.0 && clock_mhz <= MAX_CLOCK_MHZ) {
            return Err(Error::design(format!("{clock_mhz} MHz is no clock of a processor")));
        }
        if let Some(cycles) = cycles_per_instruction
            && !(cycles > 0.0 && cycles <= MAX_CYCLES_PER_INSTRUCTION)
        {
            return Err(Error::design(format!("{cycles} cycles an instruction cannot be")));
        }
        let name = if name.ends_with(".toml") { name.to_owned() } else { core.name.clone() };
        Ok(Self { core, name, clock_mhz, own_cycles_per_instruction: cycles_per_instruction })
    }

    /// Returns whether the core executes the instructions that a trace of `architecture` counts. An
    /// unknown architecture, of the trace or the core, is assumed to match.
    pub fn executes(&self, architecture: &str) -> bool {
        let Core { architecture: own, usual_for, .. } = &self.core;
        let is_unknown = architecture.is_empty() || own.is_none();
        is_unknown
            || own.as_deref() == Some(architecture)
            || usual_for.iter().any(|usual| usual == architecture)
    }

    /// Returns whether the clocks of an instruction suit a trace of `architecture`. For bytecodes
    /// they depend on the virtual machine, so the user must give them or choose a core of `cores/`
    /// that is a virtual machine.
    pub fn knows_cycles_of(&self, architecture: &str) -> bool {
        let is_machine = self.core.architecture.as_deref() == Some(BYTECODES);
        architecture != BYTECODES || is_machine || self.has_own_cycles()
    }

    /// Clocks of an instruction of the program, on average. Instructions of the fault path always
    /// take the core's own clocks.
    pub fn cycles_per_instruction(&self) -> f64 {
        self.own_cycles_per_instruction.unwrap_or(self.core.cycles_per_instruction.value)
    }

    /// Time of an instruction, on average.
    pub fn instruction_ns(&self) -> f64 {
        self.cycles_per_instruction() * self.cycle_ns()
    }

    /// Time of a clock.
    pub fn cycle_ns(&self) -> f64 {
        1e3 / self.clock_mhz
    }

    /// Returns whether the user gave the clocks of an instruction.
    pub fn has_own_cycles(&self) -> bool {
        self.own_cycles_per_instruction.is_some()
    }

    /// Returns whether the clocks of an instruction are the core's and nobody has checked them.
    pub fn is_unverified(&self) -> bool {
        !self.has_own_cycles() && self.core.cycles_per_instruction.is_unverified()
    }
}

impl FromStr for ClockedCore {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parsed = text.rsplit_once('@').and_then(|(core, clock)| {
            let clock = clock.trim();
            let digits = clock.strip_suffix("MHz").or_else(|| clock.strip_suffix("mhz"));
            let clock_mhz: f64 = digits.unwrap_or(clock).trim().parse().ok()?;
            let core = core.trim();
            match core.strip_suffix(')').and_then(|core| core.rsplit_once('(')) {
                None => Some((core, clock_mhz, None)),
                Some((core, cycles)) => Some((core.trim(), clock_mhz, Some(cycles.parse().ok()?))),
            }
        });
        let Some((core, clock_mhz, cycles)) = parsed else {
            return Err(Error::design(format!(
                "processor '{text}' is not of the form cortex-m3@64MHz (a core and its clock) or \
                 cortex-m3(1.25)@64MHz (with its cycles an instruction); 'flashpager cores' lists \
                 the cores"
            )));
        };
        Self::new(core, clock_mhz, cycles)
    }
}

impl fmt::Display for ClockedCore {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.name)?;
        if let Some(cycles) = self.own_cycles_per_instruction {
            write!(out, "({cycles})")?;
        }
        write!(out, "@{}MHz", self.clock_mhz)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_architecture_has_one_usual_core() {
        let mut all: Vec<&str> = Vec::new();
        for core in catalog().unwrap() {
            assert_eq!(core.usual_for.is_empty(), core.usual_clock_mhz.is_none(), "{}", core.name);
            all.extend(core.usual_for.iter().map(String::as_str));
        }
        let named = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), named, "{all:?}");
        for architecture in &all {
            let usual = usual(architecture).unwrap();
            assert!(usual.processor.executes(architecture), "{architecture}");
            assert!(usual.processor.knows_cycles_of(architecture), "{architecture}");
            let typed: ClockedCore = usual.processor.to_string().parse().unwrap();
            assert_eq!(typed, usual.processor);
        }
        assert_eq!(usual("").unwrap().processor, usual("sparc").unwrap().processor);
    }

    #[test]
    fn every_core_stands_under_its_file_name_and_has_a_fault_path() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cores");
        let cores = catalog().unwrap();
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), cores.len());
        for core in cores {
            let file = find(&format!("{folder}/{}.toml", core.name)).unwrap();
            assert_eq!(file, *core);
            assert!(core.architecture.is_some(), "{}", core.name);
            let jobs = core.jobs().unwrap();
            for needed in ["lookup", "pre_process", "copy_byte"] {
                assert!(jobs.iter().any(|job| job.name == needed), "{}: {needed}", core.name);
            }
        }
    }

    #[test]
    fn an_unmeasured_job_takes_the_instructions_of_the_other_core() {
        let avr = find("atmega128").unwrap();
        let m3 = find("Cortex-M3").unwrap();
        let job = |core: &Core, name: &str| {
            core.jobs().unwrap().into_iter().find(|job| job.name == name).unwrap()
        };
        assert_eq!(job(&avr, "pre_process").cycles, 339.0);
        assert_eq!(job(&avr, "copy_byte").cycles, 8.0);
        let ratio = m3.cycles_per_instruction.value / avr.cycles_per_instruction.value;
        assert_eq!(job(&m3, "pre_process").cycles, 339.0 * ratio);
        assert_eq!(job(&m3, "pre_process").measured_on, "atmega128");
        // The lookup was measured on this core, in instructions.
        assert_eq!(job(&m3, "lookup").cycles, 19.0 * m3.cycles_per_instruction.value);
        assert_eq!(job(&m3, "lookup").measured_on, "cortex-m3");
    }

    #[test]
    fn a_processor_is_spelled_in_one_way() {
        for (stated, spelled) in [
            ("cortex-m3@64MHz", "cortex-m3@64MHz"),
            ("Cortex-M3 @ 64", "cortex-m3@64MHz"),
            ("atmega128@7.3728MHz", "atmega128@7.3728MHz"),
            ("cortex-m3(1.25)@64MHz", "cortex-m3(1.25)@64MHz"),
        ] {
            assert_eq!(stated.parse::<ClockedCore>().unwrap().to_string(), spelled);
        }
        let stated: ClockedCore = "cortex-m3(1.25)@50MHz".parse().unwrap();
        assert_eq!(stated.instruction_ns(), 25.0);
        // The given clocks are the program's. The software of a fault keeps the core's.
        let usual: ClockedCore = "cortex-m3@50MHz".parse().unwrap();
        assert_eq!(stated.core.jobs().unwrap(), usual.core.jobs().unwrap());
        for (wrong, why) in [
            ("64MHz", "is not of the form"),
            ("cortex-m3", "is not of the form"),
            ("cortex-m3@", "is not of the form"),
            ("cortex-m3()@64MHz", "is not of the form"),
            ("cortex-m9@64MHz", "unknown core 'cortex-m9'"),
            ("cortex-m3@0MHz", "is no clock"),
            ("cortex-m3@nanMHz", "is no clock"),
            ("cortex-m3(0)@64MHz", "cannot be"),
        ] {
            let error = wrong.parse::<ClockedCore>().unwrap_err().to_string();
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_file_that_is_no_core_is_refused_with_its_line() {
        let start = "name = \"x\"\nmaker = \"y\"\n";
        let good = "cycles_per_instruction = { value = 1, source = \"z\" }\n";
        assert!(Core::parse(&format!("{start}{good}"), "x.toml").is_ok());
        for (text, why) in [
            ("", "x.toml, line 1: no core: missing field `cycles_per_instruction`"),
            ("cycles_per_instruction = { value = 0, source = \"z\" }", "is not above 0"),
            ("clock = 3", "unknown field `clock`"),
        ] {
            let error = Core::parse(&format!("{start}{text}"), "x.toml").unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        for job in ["{ source = \"z\" }", "{ cycles = 1, instructions = 2, source = \"z\" }"] {
            let text = format!("{start}{good}[fault_path]\nlookup = {job}");
            let error = Core::parse(&text, "x.toml").unwrap_err().to_string();
            assert!(error.contains("lookup needs cycles or instructions"), "{error}");
        }
    }
}
