//! A model of the medium: blocks of pages, and an adversary who tears them.
//!
//! Every operation asks an [`Oracle`] for its outcome. The explorer tries every answer.

/// The maximum number of pairs of a meta block.
pub const PAIRS: usize = 3;
/// Successors that a meta block names.
pub const SUCCESSORS: usize = 3;
/// Marks no block, or no version.
pub const NONE: u8 = u8::MAX;

/// The previous block, its generation, and how many of its pairs count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockLink {
    pub block: u8,
    pub generation: u8,
    pub count: u8,
}

/// The successors of a meta block. The first `kept` are successors of the previous block, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Successors {
    pub blocks: [u8; SUCCESSORS],
    pub len: u8,
    pub kept: u8,
}

impl Successors {
    pub fn new(list: &[u8], kept: usize) -> Self {
        let mut blocks = [NONE; SUCCESSORS];
        blocks[..list.len()].copy_from_slice(list);
        Self { blocks, len: list.len() as u8, kept: kept as u8 }
    }

    pub fn all(&self) -> &[u8] {
        &self.blocks[..self.len as usize]
    }

    pub fn kept(&self) -> &[u8] {
        &self.blocks[..self.kept as usize]
    }
}

/// The content of a pair. Both copies are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MetaPair {
    pub generation: u8,
    pub link: Option<BlockLink>,
    pub successors: Successors,
    /// The call after which the state is stored.
    pub version: u8,
    /// The version of the previous pair, for checks. It is no field of the format.
    pub before: u8,
    /// The half of the items that the chunk holds; a cycle is two pairs.
    pub chunk: u8,
    /// The data block to which the state points.
    pub data: u8,
    /// The block, known to be complete, whose successors this block is one of.
    pub base: u8,
}

/// The content of a page. A flaky page may read as its pair or as nothing, each time anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PageContent {
    Blank,
    /// Neither blank nor ever valid.
    Junk,
    Complete(MetaPair),
    Flaky(MetaPair),
    /// Complete data of a version.
    Data(u8),
}

/// An erase block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModelBlock {
    pub bad: bool,
    pub pages: [PageContent; 2 * PAIRS],
}

/// Makes choices from a script, and records how many options each choice had.
#[derive(Default)]
pub struct Oracle {
    pub script: Vec<u8>,
    pub arity: Vec<u8>,
    position: usize,
}

impl Oracle {
    pub fn follow(script: Vec<u8>) -> Self {
        Self { script, arity: Vec::new(), position: 0 }
    }

    fn choose(&mut self, arity: u8) -> u8 {
        if arity < 2 {
            return 0;
        }
        if self.position == self.script.len() {
            self.script.push(0);
        }
        let answer = self.script[self.position];
        self.position += 1;
        self.arity.push(arity);
        answer
    }

    /// Returns the next script in order, or `None` after the last one.
    pub fn next(mut self) -> Option<Vec<u8>> {
        self.script.truncate(self.arity.len());
        while let Some(last) = self.script.pop() {
            if last + 1 < self.arity[self.script.len()] {
                self.script.push(last + 1);
                return Some(self.script);
            }
        }
        None
    }
}

/// The power was cut.
#[derive(Debug)]
pub struct PowerCut;

/// Result of an operation that was not cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationResult {
    Done,
    Failed,
}

/// Fate of one operation.
enum OperationFate {
    Done,
    CutBefore,
    CutWithin,
    Failed,
}

/// The actions that the adversary may take.
#[derive(Clone, Copy, Debug)]
pub struct Powers {
    pub cut: bool,
    pub fail: bool,
    /// A flaky page may read differently within one mount, not only from mount to mount.
    pub restless: bool,
    /// A flaky page may read as blank.
    pub blank: bool,
}

/// The medium while the power is on.
pub struct ModelMedium<'a> {
    pub blocks: &'a mut Vec<ModelBlock>,
    pub oracle: &'a mut Oracle,
    pub powers: Powers,
    pub failures: u8,
    /// The steps in words, if they are recorded.
    pub log: Option<&'a mut Vec<String>>,
    decided: Vec<(u8, usize, bool)>,
}

impl<'a> ModelMedium<'a> {
    pub fn new(
        blocks: &'a mut Vec<ModelBlock>,
        oracle: &'a mut Oracle,
        powers: Powers,
        log: Option<&'a mut Vec<String>>,
    ) -> Self {
        Self { blocks, oracle, powers, failures: 0, log, decided: Vec::new() }
    }

    pub fn log_line(&mut self, text: impl FnOnce() -> String) {
        if let Some(log) = &mut self.log {
            log.push(text());
        }
    }

    pub fn bad(&self, block: u8) -> bool {
        self.blocks[block as usize].bad
    }

    /// Makes a choice that the protocol leaves open.
    pub fn either(&mut self) -> bool {
        self.oracle.choose(2) == 1
    }

    /// Reads a page. Returns its pair if this read finds it valid.
    pub fn read(&mut self, block: u8, page: usize) -> Option<MetaPair> {
        match self.blocks[block as usize].pages[page] {
            PageContent::Complete(pair) => Some(pair),
            PageContent::Flaky(pair) => {
                let known = self.decided.iter().find(|d| d.0 == block && d.1 == page).map(|d| d.2);
                let valid = match known {
                    Some(valid) if !self.powers.restless => valid,
                    _ => {
                        let valid = self.oracle.choose(2) == 0;
                        let word = if valid { "VALID" } else { "invalid" };
                        self.log_line(|| {
                            format!("    read {block}.{page}: flaky, reads {word} ({pair})")
                        });
                        valid
                    }
                };
                if known.is_none() {
                    self.decided.push((block, page, valid));
                }
                valid.then_some(pair)
            }
            _ => None,
        }
    }

    /// Reads a page. Returns its pair, or whether it reads blank.
    pub fn read_or_blank(&mut self, block: u8, page: usize) -> Result<MetaPair, bool> {
        let flaky = matches!(self.blocks[block as usize].pages[page], PageContent::Flaky(_));
        let blank = self.blocks[block as usize].pages[page] == PageContent::Blank;
        match self.read(block, page) {
            Some(pair) => Ok(pair),
            None if flaky && self.powers.blank => {
                let blank = self.either();
                if blank {
                    self.log_line(|| format!("    read {block}.{page}: reads BLANK"));
                }
                Err(blank)
            }
            None => Err(blank),
        }
    }

    fn decide_fate(
        &mut self,
        operation: impl FnOnce() -> String,
    ) -> Result<OperationFate, PowerCut> {
        let fail = self.powers.fail && self.failures == 0;
        let cuts = if self.powers.cut { 2 } else { 0 };
        let answer = self.oracle.choose(1 + cuts + u8::from(fail));
        let fate = match (answer, cuts) {
            (0, _) => OperationFate::Done,
            (1, 2) => OperationFate::CutBefore,
            (2, 2) => OperationFate::CutWithin,
            _ => OperationFate::Failed,
        };
        self.log_line(|| {
            let end = match fate {
                OperationFate::Done => "",
                OperationFate::CutBefore => ": CUT before it",
                OperationFate::CutWithin => ": CUT within it",
                OperationFate::Failed => ": FAILS",
            };
            format!("    {}{end}", operation())
        });
        if matches!(fate, OperationFate::Failed) {
            self.failures += 1;
        }
        if matches!(fate, OperationFate::CutBefore) { Err(PowerCut) } else { Ok(fate) }
    }

    /// Programs a page with a copy of a pair, or with data.
    pub fn program(
        &mut self,
        block: u8,
        page: usize,
        content: PageContent,
    ) -> Result<OperationResult, PowerCut> {
        assert_eq!(
            self.blocks[block as usize].pages[page],
            PageContent::Blank,
            "programs page {block}.{page}, which is not erased"
        );
        let fate = self.decide_fate(|| match content {
            PageContent::Complete(pair) => format!("program {block}.{page}: {pair}"),
            _ => format!("program {block}.{page}: data"),
        })?;
        let torn = match content {
            PageContent::Complete(pair) => PageContent::Flaky(pair),
            _ => PageContent::Junk,
        };
        let at = &mut self.blocks[block as usize].pages[page];
        match fate {
            OperationFate::CutWithin => {
                *at = torn;
                Err(PowerCut)
            }
            OperationFate::Failed => {
                *at = torn;
                Ok(OperationResult::Failed)
            }
            _ => {
                *at = content;
                Ok(OperationResult::Done)
            }
        }
    }

    /// Erases a block. For a reader, a mixture of old and blank pages is the same as all old pages
    /// being flaky: any of them may read as nothing.
    pub fn erase(&mut self, block: u8) -> Result<OperationResult, PowerCut> {
        let pages = &self.blocks[block as usize].pages;
        let blank = pages.iter().all(|page| *page == PageContent::Blank);
        let cut = self.powers.cut;
        // A cut of the erasure of a blank block leaves nothing that another cut does not.
        self.powers.cut = cut && !blank;
        let fate = self.decide_fate(|| format!("erase {block}"));
        self.powers.cut = cut;
        let fate = fate?;
        for page in &mut self.blocks[block as usize].pages {
            *page = match (&fate, *page) {
                (OperationFate::Done, _) => PageContent::Blank,
                (_, PageContent::Complete(pair) | PageContent::Flaky(pair)) => {
                    PageContent::Flaky(pair)
                }
                (_, PageContent::Blank | PageContent::Junk | PageContent::Data(_)) => {
                    PageContent::Junk
                }
            };
        }
        match fate {
            OperationFate::CutWithin => Err(PowerCut),
            OperationFate::Failed => Ok(OperationResult::Failed),
            _ => Ok(OperationResult::Done),
        }
    }

    /// Marks a block bad for good. The mark is assumed to be atomic.
    pub fn mark(&mut self, block: u8) -> Result<(), PowerCut> {
        if self.powers.cut && self.oracle.choose(2) == 1 {
            self.log_line(|| format!("    mark {block} bad: CUT before it"));
            return Err(PowerCut);
        }
        self.log_line(|| format!("    mark {block} bad"));
        self.blocks[block as usize].bad = true;
        Ok(())
    }
}

impl std::fmt::Display for MetaPair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "gen {} v{} ", self.generation, self.version)?;
        match self.link {
            Some(link) => write!(f, "link {} gen {} x{}", link.block, link.generation, link.count)?,
            None => write!(f, "link none")?,
        }
        let successors = &self.successors;
        write!(f, " S {:?} kept {} data {}", successors.all(), successors.kept, self.data)?;
        write!(f, " base {}", self.base)
    }
}
