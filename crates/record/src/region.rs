//! Regions: the part of an execution that is recorded.

use flashpager_base::{Error, Result, did_you_mean};
use flashpager_binary::names::{demangled, is_called};
use flashpager_trace::calls::OpenCalls;
use flashpager_trace::{Image, Run, Symbol};

use super::functions::PlacedFunctions;
use super::placement::UnplacedCode;
use super::unplaced::{CodePlace, UnplacedCalls};

/// Return address of calls that never return: the end of the address space.
const NOWHERE: u64 = u64::MAX;

/// The part of an execution to record; by default all of it. It applies to each thread by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// Function or address. Each time it is executed, the region begins with it.
    pub from: Option<String>,
    /// Function or address. Each time it is executed, the region ends before it.
    pub to: Option<String>,
    /// A function and the number of the call of it to record, counted from 1, with all that it calls.
    pub call: Option<(String, u64)>,
    /// Instructions to skip at the beginning of the region.
    pub skip_instructions: u64,
    /// Instructions to record behind the skipped ones. Then the recording ends.
    pub max_instructions: Option<u64>,
}

impl Region {
    /// Returns true if the region is the whole execution.
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }
}

impl std::fmt::Display for Region {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { from, to, call, skip_instructions, max_instructions } = self;
        let mut parts = Vec::new();
        parts
            .extend(call.as_ref().map(|(function, number)| format!("call {number} of {function}")));
        parts.extend(from.as_ref().map(|from| format!("from {from}")));
        parts.extend(to.as_ref().map(|to| format!("to {to}")));
        if *skip_instructions > 0 {
            parts.push(format!("without the first {skip_instructions} instructions"));
        }
        parts.extend(max_instructions.map(|max| format!("{max} instructions at most")));
        out.write_str(&parts.join(", "))
    }
}

/// A place in a program's code at which a region begins or ends.
#[derive(Clone, Debug)]
struct RegionBoundary {
    /// The command-line option that named it.
    option: &'static str,
    /// A symbol, or an address with `0x`.
    name: String,
    /// Offset in flash; `None` until an image has it.
    offset: Option<u32>,
    /// Linked address and bytes, if it lies in code that is not placed, such as a function in RAM.
    unplaced: Option<(u64, u64)>,
    /// It lies within a block, which is recorded whole or not at all.
    is_within_block: bool,
}

impl RegionBoundary {
    fn new(option: &'static str, name: &str) -> Self {
        let name = name.to_owned();
        Self { option, name, offset: None, unplaced: None, is_within_block: false }
    }

    fn address(&self) -> Option<u64> {
        u64::from_str_radix(self.name.strip_prefix("0x")?, 16).ok()
    }

    fn error(&self, message: impl std::fmt::Display) -> Error {
        Error::design(format!("{} {}: {message}", self.option, self.name))
    }

    /// Looks for the place in another image. `functions` are those of the image, under all of their
    /// names.
    fn seek(&mut self, image: &Image, functions: &[Symbol]) -> Result<()> {
        if self.is_known() {
            return Ok(());
        }
        if let Some(address) = self.address() {
            self.offset = image.sections.iter().find_map(|section| section.offset_of(address));
            return Ok(());
        }
        let mut offsets: Vec<u32> = functions
            .iter()
            .filter(|symbol| is_called(&symbol.name, &self.name))
            .map(|symbol| symbol.offset)
            .collect();
        offsets.sort_unstable();
        offsets.dedup();
        if offsets.len() > 1 {
            let addresses: Vec<String> =
                offsets.iter().filter_map(|offset| address_of(image, *offset)).collect();
            return Err(self.error(format_args!(
                "{} functions of {} have this name; give one's address: {}",
                offsets.len(),
                image.path,
                addresses.join(", ")
            )));
        }
        self.offset = offsets.first().copied();
        Ok(())
    }

    /// Looks for the place in the code of the program that is not placed.
    fn seek_unplaced(&mut self, code: &UnplacedCode) -> Result<()> {
        if self.is_known() {
            return Ok(());
        }
        if let Some(address) = self.address() {
            let is_code =
                code.sections.iter().any(|(start, end)| (*start..*end).contains(&address));
            let function = code.functions.iter().find(|(_, start, _)| *start == address);
            self.unplaced = is_code.then(|| (address, function.map_or(0, |(.., bytes)| *bytes)));
            return Ok(());
        }
        let mut places: Vec<(u64, u64)> = code
            .functions
            .iter()
            .filter(|(name, ..)| is_called(name, &self.name))
            .map(|(_, address, bytes)| (*address, *bytes))
            .collect();
        places.dedup_by_key(|(address, _)| *address);
        if places.len() > 1 {
            let addresses: Vec<String> =
                places.iter().map(|(address, _)| format!("{address:#x}")).collect();
            return Err(self.error(format_args!(
                "{} functions of the program have this name; give one's address: {}",
                places.len(),
                addresses.join(", ")
            )));
        }
        self.unplaced = places.first().copied();
        Ok(())
    }

    fn is_known(&self) -> bool {
        self.offset.is_some() || self.unplaced.is_some()
    }

    /// Checks that one of `images` or the rest of the program has the place.
    fn check(&self, images: &[Image]) -> Result<()> {
        if self.is_known() {
            return Ok(());
        }
        let places: Vec<String> = images
            .iter()
            .flat_map(|image| image.sections.iter().map(move |section| (image, section)))
            .map(|(image, section)| {
                let end = section.address + u64::from(section.bytes);
                format!("{} {:#x}-{end:#x} of {}", section.name, section.address, image.path)
            })
            .collect();
        let places = if places.is_empty() { "nothing".into() } else { places.join(", ") };
        Err(self.error(match self.address() {
            Some(_) => format!("lies in no code of the program (placed: {places})"),
            None => {
                let symbols = images.iter().flat_map(|image| &image.symbols);
                let names: Vec<String> = symbols.map(|symbol| demangled(&symbol.name)).collect();
                let near = did_you_mean(&self.name, names.iter().map(String::as_str));
                format!("no such function in the program (placed: {places}){near}")
            }
        }))
    }

    /// Distance from the start of `piece` to the place; `None` if it lies elsewhere.
    #[inline]
    fn ahead(&self, piece: Run) -> Option<u32> {
        let ahead = self.offset?.checked_sub(piece.offset)?;
        (ahead < piece.length).then_some(ahead)
    }

    /// Distance from `address` to the place, if it lies in the `bytes` there, which are not placed.
    #[inline]
    fn ahead_unplaced(&self, address: u64, bytes: u32) -> Option<u32> {
        let ahead = self.unplaced?.0.checked_sub(address)?;
        (ahead < bytes.into()).then_some(ahead as u32)
    }
}

fn address_of(image: &Image, offset: u32) -> Option<String> {
    image.sections.iter().find_map(|section| {
        let ahead = offset.checked_sub(section.offset)?;
        (ahead < section.bytes).then(|| format!("{:#x}", section.address + u64::from(ahead)))
    })
}

/// A call that has not returned.
#[derive(Clone, Copy, Debug)]
struct OpenCall {
    /// The function's first byte.
    function: u32,
    /// It was called by code outside the placed code.
    from_outside: bool,
    /// The recorded part ends when it returns.
    is_recorded: bool,
}

/// Follows a thread and selects the code that lies in a region.
#[derive(Clone, Debug)]
pub struct Selection {
    region: Region,
    from: Option<RegionBoundary>,
    to: Option<RegionBoundary>,
    call: Option<RegionBoundary>,
    /// Functions by which calls are recognised; empty unless one call is recorded.
    functions: PlacedFunctions,
    open: OpenCalls<OpenCall>,
    /// Calls of the function whose call is recorded, if that is not placed.
    unplaced: Option<UnplacedCalls>,
    /// Calls so far of the function whose call is recorded.
    calls: u64,
    /// End of the placed code that was executed last.
    end: u64,
    /// Code outside the placed code was executed last.
    was_outside: bool,
    /// The thread is in the region.
    is_within: bool,
    /// Number of times that the region began.
    begun: u64,
    /// Instructions in the region, skipped ones included.
    passed: u64,
    /// Recorded instructions.
    recorded: u64,
    /// The region began and ended within a block.
    is_one_block: bool,
    /// Nothing more will be recorded.
    is_over: bool,
}

impl Selection {
    /// The selection of a thread that has not executed anything yet.
    pub fn new(region: Region) -> Self {
        let boundary = |option, name: &Option<String>| {
            name.as_ref().map(|name| RegionBoundary::new(option, name))
        };
        let is_within = region.from.is_none() && region.call.is_none();
        Self {
            from: boundary("--from", &region.from),
            to: boundary("--to", &region.to),
            call: region.call.as_ref().map(|(name, _)| RegionBoundary::new("--call", name)),
            region,
            functions: PlacedFunctions::default(),
            open: OpenCalls::default(),
            unplaced: None,
            calls: 0,
            end: 0,
            was_outside: true,
            is_within,
            begun: is_within.into(),
            passed: 0,
            recorded: 0,
            is_one_block: false,
            is_over: false,
        }
    }

    fn boundaries(&self) -> impl Iterator<Item = &RegionBoundary> {
        [&self.from, &self.to, &self.call].into_iter().flatten()
    }

    /// Adds a placed image. `functions` are those of the image, under all of their names.
    ///
    /// # Errors
    /// If several functions of the image share a name that bounds the region.
    pub fn add_image(&mut self, image: &Image, functions: &[Symbol]) -> Result<()> {
        for boundary in [&mut self.from, &mut self.to, &mut self.call].into_iter().flatten() {
            boundary.seek(image, functions)?;
        }
        if self.call.is_some() {
            self.functions.add_image(image);
        }
        Ok(())
    }

    /// Adds the code of the program that is not placed. Functions there may be named, too.
    ///
    /// # Errors
    /// If several such functions share a name that bounds the region.
    pub fn add_unplaced(&mut self, code: &UnplacedCode) -> Result<()> {
        for boundary in [&mut self.from, &mut self.to, &mut self.call].into_iter().flatten() {
            boundary.seek_unplaced(code)?;
        }
        if let Some((address, bytes)) = self.call.as_ref().and_then(|call| call.unplaced) {
            self.unplaced = Some(UnplacedCalls::new(address, bytes, code));
        }
        Ok(())
    }

    /// Checks the region when all images are placed.
    ///
    /// # Errors
    /// If the region begins or ends in none of the images.
    pub fn check(&self, images: &[Image]) -> Result<()> {
        self.boundaries().try_for_each(|boundary| boundary.check(images))
    }

    /// Returns true if nothing more will be recorded.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns true if something was recorded.
    pub fn has_begun(&self) -> bool {
        self.recorded > 0
    }

    /// Progress towards the region, for comparing threads that recorded nothing.
    fn progress(&self) -> (u64, u64, u64) {
        (self.begun, self.calls, self.passed)
    }

    /// Explains why no thread recorded anything. `None` if the region is not the reason.
    pub fn why_nothing<'a>(threads: impl Iterator<Item = &'a Self>) -> Option<Error> {
        let threads: Vec<&Self> = threads.collect();
        let most = threads.iter().max_by_key(|thread| thread.progress())?;
        let (from, call) = (most.from.as_ref(), most.call.as_ref());
        let calls = most.calls;
        Some(match (call.or(from), &most.to) {
            (Some(boundary), _) if most.begun == 0 => match calls {
                0 => boundary.error("was never executed"),
                1 => boundary.error("was called once only"),
                _ if threads.len() > 1 => {
                    boundary.error(format_args!("no thread called it more than {calls} times"))
                }
                _ => boundary.error(format_args!("was called {calls} times only")),
            },
            (_, Some(to)) if most.passed == 0 => to.error("nothing was executed before"),
            _ if most.region.skip_instructions == 0 => return None,
            _ => Error::design(format!(
                "--skip-instructions {}: no more than {} were executed",
                most.region.skip_instructions, most.passed
            )),
        })
    }

    /// Explains why nothing in the region lies in the placed code. `None` if the region is not the
    /// reason. `outside` are the instructions executed outside the placed code.
    pub fn why_outside(&self, outside: u64) -> Option<Error> {
        if self.call.is_some() {
            return Some(Error::design(format!(
                "{}: no instruction of it lies in the placed code ({outside} lie outside): a function \
                 that is copied to RAM executes there; record a caller that lies in flash, or place \
                 other code with --section, --with-libraries or --image",
                self.region
            )));
        }
        let most = self.region.max_instructions.filter(|_| self.is_over)?;
        Some(Error::design(format!(
            "--max-instructions {most}: none of these lies in the placed code ({outside} lie \
             outside: a program begins in its loader); begin in the program, as with --from main"
        )))
    }

    /// Describes the recorded part in words.
    pub fn text(&self) -> String {
        let mut text = self.region.to_string();
        if self.from.is_some() {
            text += &format!(", {} time{}", self.begun, if self.begun == 1 { "" } else { "s" });
        }
        if self.is_within && !self.is_over {
            text += &match (&self.from, &self.to, &self.call) {
                (None, Some(to), _) => format!(" ({} was not executed)", to.name),
                (Some(_), Some(to), _) => format!(" ({} was not executed after)", to.name),
                (.., Some(_)) => " (its return was not seen)".to_owned(),
                _ => String::new(),
            };
        }
        for (how, boundary) in [("with all of", &self.from), ("without", &self.to)] {
            if let Some(boundary) = boundary.as_ref().filter(|boundary| boundary.is_within_block) {
                text += &format!(", {how} the block that {} is in", boundary.name);
            }
        }
        if let (Some(to), true) = (&self.to, self.is_one_block) {
            text += &format!(", {} is in the same block: all of it is recorded", to.name);
        }
        text
    }

    /// Takes an executed piece of placed code. Returns whether it is recorded.
    #[inline]
    pub fn takes_placed(&mut self, piece: Run, instructions: u32) -> bool {
        if self.unplaced.is_some() {
            let is_function = self.functions.begin_at(piece.offset);
            let [start, end] = [piece.offset.into(), piece.end()].map(CodePlace::Placed);
            self.follow_unplaced(start, end, is_function);
        } else if self.call.is_some() {
            self.follow(piece);
        }
        self.end = piece.end();
        self.was_outside = false;
        let ahead = |boundary: &Option<RegionBoundary>| {
            boundary.as_ref().and_then(|boundary| boundary.ahead(piece))
        };
        let (from, to) = (ahead(&self.from), ahead(&self.to));
        self.takes(from, to, instructions)
    }

    /// Takes executed code outside the placed code, at `address` of the program. Returns whether it
    /// is counted.
    #[inline]
    pub fn takes_outside(&mut self, address: u64, bytes: u32, instructions: u32) -> bool {
        self.was_outside = true;
        if let Some(calls) = &self.unplaced {
            let is_function = calls.begins_at(address);
            let end = address.wrapping_add(bytes.into());
            self.follow_unplaced(CodePlace::At(address), CodePlace::At(end), is_function);
        }
        let ahead = |boundary: &Option<RegionBoundary>| {
            boundary.as_ref().and_then(|boundary| boundary.ahead_unplaced(address, bytes))
        };
        let (from, to) = (ahead(&self.from), ahead(&self.to));
        self.takes(from, to, instructions)
    }

    /// Takes executed code. `from` and `to` are the distances to the region's ends that lie in it.
    #[inline]
    fn takes(&mut self, from: Option<u32>, to: Option<u32>, instructions: u32) -> bool {
        if let (true, Some(ahead), Some(boundary)) = (self.is_within, to, &mut self.to) {
            self.is_within = false;
            self.is_over |= self.from.is_none();
            boundary.is_within_block |= ahead > 0;
        }
        if let (false, Some(ahead), Some(boundary)) = (self.is_within, from, &mut self.from) {
            self.is_within = true;
            self.begun += 1;
            boundary.is_within_block |= ahead > 0;
        }
        let takes = self.counts(instructions);
        if from.is_some() && from < to {
            self.is_within = false;
            self.is_one_block = true;
        }
        takes
    }

    fn counts(&mut self, instructions: u32) -> bool {
        if !self.is_within || self.is_over {
            return false;
        }
        let before = self.passed;
        self.passed += u64::from(instructions);
        // Blocks are skipped and recorded whole, so that the numbers may be exceeded.
        if before < self.region.skip_instructions {
            return false;
        }
        self.recorded += u64::from(instructions);
        self.is_over = self.region.max_instructions.is_some_and(|most| self.recorded >= most);
        true
    }

    /// Follows the calls and returns that a jump to `piece` means.
    fn follow(&mut self, piece: Run) {
        let (to, from_outside) = (piece.offset, self.was_outside);
        if !from_outside && self.end == u64::from(to) {
            return;
        }
        // The requested address counts as a function even without a symbol.
        let is_asked_for = self.call.as_ref().is_some_and(|call| call.offset == Some(to));
        if !is_asked_for && !self.functions.begin_at(to) {
            let mut is_left = false;
            self.open.take_returned(to, |_, call| is_left |= call.is_recorded);
            self.leave(is_left);
            return;
        }
        if !from_outside && self.functions.loops(self.end, to) {
            return;
        }
        let again = |last: &&mut OpenCall| from_outside && last.from_outside && last.function == to;
        // Code outside calls the function once more: the call before must have returned.
        let again =
            self.open.last_mut().filter(again).map(|last| std::mem::take(&mut last.is_recorded));
        self.leave(again == Some(true));
        self.calls += u64::from(is_asked_for);
        let number = self.region.call.as_ref().map(|(_, number)| *number);
        let is_recorded = is_asked_for && number == Some(self.calls);
        if is_recorded {
            self.is_within = true;
            self.begun = 1;
        }
        // A jump at the end of a function is a tail call, which returns together with that function.
        let is_jump = !from_outside && self.functions.end_at(self.end);
        match self.open.last_mut() {
            Some(last) if is_jump || again.is_some() => last.is_recorded |= is_recorded,
            _ => {
                let back = if is_jump { NOWHERE } else { self.end };
                self.open.push(back, OpenCall { function: to, from_outside, is_recorded });
            }
        }
    }

    /// Follows the calls of a function that is not placed.
    fn follow_unplaced(&mut self, start: CodePlace, end: CodePlace, is_function: bool) {
        let Some(calls) = &mut self.unplaced else { return };
        let step = calls.follow(start, end, is_function);
        let number = self.region.call.as_ref().map(|(_, number)| *number);
        if let Some(returned) = step.returned {
            self.leave(number == Some(returned));
        }
        if let Some(called) = step.called {
            self.calls = called;
            if number == Some(called) {
                self.is_within = true;
                self.begun = 1;
            }
        }
    }

    /// Takes the end of a call, which may be the recorded one.
    fn leave(&mut self, is_recorded: bool) {
        self.is_within &= !is_recorded;
        self.is_over |= is_recorded;
    }
}
