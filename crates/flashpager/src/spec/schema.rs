//! The fields of a design, stated once.
//!
//! [`design_schema!`] makes [`DesignSpec`](super::DesignSpec) with its defaults, and of its axes
//! the table [`AXES`](super::AXES): field, setter, flag, help, column, title, key of a board's
//! file. The properties of Python's `Design`, the type stub and the table of axes in
//! `docs/formats.md` are made of it, too: a new axis is one row here, and the code that uses it.

/// Hands the fields of [`DesignSpec`](super::DesignSpec) to the macro `$consumer`.
///
/// A row is: documentation, which Python and the documents show; attributes for serde; field, type
/// and default. A field that an exploration may vary goes on with `axis`: its kind, its title,
/// from which the flag is made, the placeholder of a value in usage lines, a line of help, the
/// values that `all` stands for, and the check of a name.
#[macro_export]
macro_rules! design_schema {
    ($consumer:ident) => {
        $consumer! {
            /// The flash part: a name of the catalog, or a part's TOML file.
            #[serde(skip_serializing_if = "Option::is_none")]
            part: Option<String> = None, axis {
                kind: Name,
                title: "part",
                metavar: "NAME",
                help: || "Flash part, or a part's TOML file.".into(),
                all: None,
                checked: |name| part::find(name).map(|_| name.to_owned()),
            };
            /// Clock and data lines of the bus, as `33MHz-x8`.
            #[serde(skip_serializing_if = "Option::is_none")]
            bus: Option<String> = None, axis {
                kind: Name,
                title: "bus",
                metavar: "BUS",
                help: || "Clock and data lines, as 33MHz-x8.".into(),
                all: None,
                checked: known::<Bus>,
            };
            /// Lines of command, address and data with which a part is read in place, as `1-4-4`;
            /// None for the fastest way.
            #[serde(skip_serializing_if = "Option::is_none")]
            read_mode: Option<String> = None, axis {
                kind: NameOrNone,
                title: "read mode",
                metavar: "MODE",
                help: || "Lines of command, address and data of a read in place, as 1-4-4; 0-4-4 continues the read before.".into(),
                all: None,
                checked: |mode| Ok(mode.to_owned()),
            };
            /// True if a bus may be faster or wider than the part, which is then read at its own
            /// pace, as in the tables of CARDIS 2010.
            #[serde(skip_serializing_if = "std::ops::Not::not")]
            clip_bus: bool = false;
            /// RAM for frames, in bytes.
            cache_bytes: u64 = 2048, axis {
                kind: Bytes,
                title: "cache",
                metavar: "SIZE",
                help: || "RAM for frames, as 2K.".into(),
                all: None,
                checked: no_name,
            };
            /// A cache page in bytes, a power of two.
            cache_page_bytes: u32 = 64, axis {
                kind: PageBytes,
                title: "cache page",
                metavar: "SIZE",
                help: || "Cache page, a power of two.".into(),
                all: None,
                checked: no_name,
            };
            /// A flash page in bytes, a power of two; None for the part's own.
            flash_page_bytes: Option<u32> = None, axis {
                kind: PageBytesOrNone,
                title: "flash page",
                metavar: "SIZE",
                help: || "Flash page; the part's own by default.".into(),
                all: None,
                checked: no_name,
            };
            /// The model by which the data register is read.
            #[serde(skip_serializing_if = "Option::is_none")]
            register: Option<String> = None, axis {
                kind: Name,
                title: "register",
                metavar: "MODEL",
                help: || registers().join(" | "),
                all: Some(registers),
                checked: known::<RegisterModel>,
            };
            /// With host ECC: bytes that are fetched and checked together, a power of two.
            codeword_bytes: Option<u32> = None, axis {
                kind: PageBytesOrNone,
                title: "codeword",
                metavar: "SIZE",
                help: || "With host ECC: bytes fetched and checked whole.".into(),
                all: None,
                checked: no_name,
            };
            /// With authentication: bytes of the tag of a cache page, or of a codeword that is
            /// larger, 1 to 16; None without tags.
            #[serde(skip_serializing_if = "Option::is_none")]
            tag_bytes: Option<u32> = None, axis {
                kind: BytesOrNone,
                title: "tag",
                metavar: "BYTES",
                help: || "With authentication: bytes of the tag of what is fetched, up to 16.".into(),
                all: None,
                checked: no_name,
            };
            /// The arrangement of the cache pages in flash: `plain`, one behind the other, or
            /// `homes`, a flash page for each, with the pages that are likely to miss next.
            #[serde(skip_serializing_if = "is_plain")]
            store: String = Store::Plain.name().into(), axis {
                kind: Name,
                title: "store",
                metavar: "KIND",
                help: || format!("Cache pages in flash: {}, a flash page for each with what misses next.", stores().join(" | ")),
                all: Some(stores),
                checked: known::<Store>,
            };
            /// The replacement policy, with its parameters.
            policy: String = "lru".into(), axis {
                kind: Name,
                title: "policy",
                metavar: "POLICY",
                help: || pager::POLICIES.iter().map(spelled).collect::<Vec<_>>().join(" | "),
                all: Some(policies_without_parameters),
                checked: parsed::<PolicySpec>,
            };
            /// The file of trained reuse classes, for a policy that has classes, in a store of homes.
            /// Classes are untrained without one.
            #[serde(skip_serializing_if = "Option::is_none")]
            classes: Option<String> = None, axis {
                kind: NameOrNone,
                title: "classes",
                metavar: "FILE",
                help: || "Reuse classes of the pages, as homes --train-classes writes them.".into(),
                all: None,
                checked: |path| ClassesFile::read(path).map(|_| path.to_owned()),
            };
            /// Ways of a set of a cache in hardware, whose lines are cache pages; None for frames
            /// in software.
            #[serde(skip_serializing_if = "Option::is_none")]
            ways: Option<u32> = None, axis {
                kind: CountOrNone,
                title: "ways",
                metavar: "N",
                help: || "Cache in hardware, in sets of so many lines; a line is a cache page.".into(),
                all: None,
                checked: no_name,
            };
            /// Lines that a prefetch buffer behind a cache in hardware reads ahead; None without
            /// one.
            #[serde(skip_serializing_if = "Option::is_none")]
            prefetch_lines: Option<u32> = None, axis {
                kind: CountOrZero,
                title: "prefetch lines",
                metavar: "N",
                help: || "Buffer behind a cache in hardware, for so many lines read ahead.".into(),
                all: None,
                checked: no_name,
            };
            /// When the program goes on after a miss of a cache in hardware: `whole`,
            /// `early-restart` or `critical-word-first`.
            #[serde(skip_serializing_if = "is_whole")]
            line_fetch: String = LineFetch::Whole.name().into(), axis {
                kind: Name,
                title: "line fetch",
                metavar: "HOW",
                help: || format!("When a cache in hardware goes on at a miss: {}.", line_fetches().join(" | ")),
                all: Some(line_fetches),
                checked: known::<LineFetch>,
            };
            /// Times of the RAM. If None, those of the processor that copies; without one, 0.
            ram: Option<Ram> = None;
            /// Times of the software. If None, those of the processor's fault path; without a
            /// processor all are 0.
            handler: Option<Handler> = None;
            /// The NOR part to compare with; `none` for no comparison.
            #[serde(skip_serializing_if = "Option::is_none", with = "or_none")]
            nor: Option<String> = None;
            /// True if a load costs its command, address and status cycles, too; the papers leave
            /// them out.
            count_commands: bool = false;
            /// The schedule of a fault's jobs: `sequential`, `parallel` and others.
            schedule: String = Schedule::Sequential.name().into(), axis {
                kind: Name,
                title: "schedule",
                metavar: "NAME",
                help: || format!("What of a fault goes on at once: {}.", schedules().join(" | ")),
                all: Some(schedules),
                checked: known::<Schedule>,
            };
            /// How a reference bit is set: by `hardware`, or `emulated` by the valid bit, which
            /// costs false faults.
            reference_bit: String = HARDWARE.into(), axis {
                kind: Name,
                title: "reference bit",
                metavar: "HOW",
                help: || format!("{HARDWARE} | {EMULATED} (by the valid bit: false faults)."),
                all: None,
                checked: |text| emulates_bit(text).map(|_| text.to_owned()),
            };
            /// Bytes of a page that are transferred before the program goes on, a power of two;
            /// None for the whole page.
            critical_block_bytes: Option<u32> = None, axis {
                kind: PageBytesOrNone,
                title: "critical block",
                metavar: "SIZE",
                help: || "Transfer this much first and the rest of the page while the program runs.".into(),
                all: None,
                checked: no_name,
            };
            /// The processor, as `cortex-m3@64MHz`; `none` for the times of the memories alone. If
            /// open, it follows from the architecture of the trace.
            #[serde(skip_serializing_if = "Option::is_none", with = "or_none")]
            processor: Option<String> = None, axis {
                kind: NameOrNone,
                title: "processor",
                metavar: "CORE@CLOCK",
                help: || "Executes the program and serves faults, as cortex-m3@64MHz; none: the memories alone. By default the trace's architecture chooses it.".into(),
                all: None,
                checked: parsed::<ClockedCore>,
            };
            /// The instruction cache in front of the page cache; None without one.
            icache: Option<ICacheSpec> = None;
            /// The TLB between both; None without one.
            tlb: Option<TlbSpec> = None;
        }
    };
}
