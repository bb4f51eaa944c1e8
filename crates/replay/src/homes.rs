//! Homes: a store in which every cache page has a flash page of its own.
//!
//! The home of page p begins with a header, the numbers of the pages in its slots. Behind it stand
//! the slots: p itself, then pages that are likely to miss after p. The cache and its victims know
//! cache pages alone, so its misses are those of the plain store. They are served here from the
//! homes instead of from the image, and give other counts.

use flashpager_base::{Error, Result, named};
use flashpager_trace::{Trace, for_runs};
use serde::{Deserialize, Serialize};

use super::references::Collapser;
use super::requests::AccessCounts;
use super::{CacheDesign, Counts, Events, Fault, image_pages, replay};
use crate::pager::{
    NEVER, Page, Policy, PolicySpec, PolicyVisitor, ReferenceOutcome, ReuseClasses, Shape,
    VictimSearch,
};
use crate::register::{Access, RegisterCase, RegisterDesign, RegisterModel};

/// The arrangements of the cache pages in flash.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Store {
    /// The image as it is: one cache page behind the other.
    #[default]
    Plain,
    /// A flash page for each cache page, with the pages that are likely to miss next.
    Homes,
}

named! {
    Store: "unknown store",
    "plain" => Plain,
    "homes" => Homes,
}

/// The maximum number of pages that have homes. The number 0xFFFF stands for an empty slot.
pub const MAX_HOMES: u32 = 0xFFFF;
/// The maximum number of pages whose numbers take one byte. The number 0xFF stands for an empty
/// slot.
const MAX_SHORT_NUMBERS: u32 = 0xFF;
/// The maximum number of slots of all homes. It bounds the memory of a store.
const MAX_SLOTS: u64 = 1 << 26;

/// The sizes of a store of homes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HomesShape {
    /// Bytes of a cache page, and so of a slot.
    pub cache_page_bytes: u32,
    /// Bytes of a flash page, which is a home.
    pub flash_page_bytes: u32,
    /// Cache pages of the image, each with a home.
    pub pages: u32,
    /// True if the reuse classes of each page, a byte, stand behind it in its slot.
    pub has_classes: bool,
}

impl HomesShape {
    /// The shape for an image of `image_bytes`.
    ///
    /// # Errors
    /// Flash pages without room for two slots, and images with too many pages.
    pub fn new(
        image_bytes: u64,
        cache_page_bytes: u32,
        flash_page_bytes: u32,
        has_classes: bool,
    ) -> Result<Self> {
        let pages = image_pages(image_bytes, cache_page_bytes)?;
        let shape = Self { cache_page_bytes, flash_page_bytes, pages, has_classes };
        shape.check()?;
        if pages > MAX_HOMES || u64::from(pages) * u64::from(shape.slots()) > MAX_SLOTS {
            return Err(Error::design(format!(
                "homes for {pages} cache pages of {cache_page_bytes} bytes: a store has at most \
                 {MAX_HOMES} homes and {MAX_SLOTS} slots; take larger cache pages, or --store plain"
            )));
        }
        Ok(shape)
    }

    /// Checks that a home has room for two slots.
    ///
    /// # Errors
    /// A flash page that is too small.
    pub fn check(&self) -> Result<()> {
        if self.slots() < 2 {
            return Err(Error::design(format!(
                "homes in flash pages of {} bytes: a header and two cache pages of {} bytes do not \
                 fit; take smaller cache pages, or --store plain",
                self.flash_page_bytes, self.cache_page_bytes
            )));
        }
        Ok(())
    }

    /// Bytes of the number of a page in a header.
    pub fn number_bytes(&self) -> u32 {
        if self.pages <= MAX_SHORT_NUMBERS { 1 } else { 2 }
    }

    /// The number of slots of a home.
    pub fn slots(&self) -> u32 {
        let Self { cache_page_bytes, flash_page_bytes, .. } = *self;
        if self.has_classes {
            return flash_page_bytes / (self.slot_bytes() + self.number_bytes());
        }
        let pages = flash_page_bytes / cache_page_bytes.max(1);
        let numbers = pages.saturating_sub(1) * self.number_bytes();
        flash_page_bytes.saturating_sub(numbers) / cache_page_bytes.max(1)
    }

    /// Bytes of a slot: a page, and its classes if it has any.
    pub fn slot_bytes(&self) -> u32 {
        self.cache_page_bytes + u32::from(self.has_classes)
    }

    /// Bytes of the header of a home.
    pub fn header_bytes(&self) -> u32 {
        self.slots() * self.number_bytes()
    }
}

/// A store of homes: the pages in the slots of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Homes {
    shape: HomesShape,
    /// By page, the pages in the slots of its home. The first is the page itself. Slots that are
    /// missing at the end are empty.
    slots: Vec<Vec<Page>>,
}

impl Homes {
    /// Homes with the given slots.
    ///
    /// # Errors
    /// Homes that do not begin with their page, have too many slots, or a page outside the image.
    pub fn new(shape: HomesShape, slots: Vec<Vec<Page>>) -> Result<Self> {
        let is_home = |(page, slots): (usize, &Vec<Page>)| {
            slots.first() == Some(&(page as Page))
                && slots.len() <= shape.slots() as usize
                && slots.iter().all(|page| *page < shape.pages)
        };
        if slots.len() != shape.pages as usize || !slots.iter().enumerate().all(is_home) {
            return Err(Error::design(format!(
                "homes: {} pages need as many homes, each with its own page first, then up to {} \
                 pages of the image",
                shape.pages,
                shape.slots() - 1
            )));
        }
        Ok(Self { shape, slots })
    }

    /// Homes in which each page is followed by its neighbours in the image: x, x + 1, and so on to
    /// the end of the image.
    pub fn of_neighbours(shape: HomesShape) -> Self {
        let end = |page: Page| page.saturating_add(shape.slots()).min(shape.pages);
        let slots = (0..shape.pages).map(|page| (page..end(page)).collect()).collect();
        Self { shape, slots }
    }

    /// The sizes of the store.
    pub fn shape(&self) -> HomesShape {
        self.shape
    }

    /// The pages in the slots of the home of `page`; empty slots at the end are left out.
    pub fn slots(&self, page: Page) -> &[Page] {
        self.slots.get(page as usize).map_or(&[], Vec::as_slice)
    }

    /// Serves `misses` with an empty register at the start. `served` receives the access of each.
    pub fn serve(
        &self,
        register: HomesRegisterDesign,
        misses: &[Miss],
        mut served: impl FnMut(usize, &Access),
    ) -> StoreCounts {
        let mut register = HomesRegister::new(register);
        let mut counts = AccessCounts::default();
        for (index, miss) in misses.iter().enumerate() {
            let access = register.request(self, miss.page);
            served(index, &access);
            counts.add(&access, miss.page, miss.search);
        }
        StoreCounts(counts)
    }

    /// The flash image of the store: of `image`, which is cut into cache pages, with the classes of
    /// each page behind it. The last page is filled up with erased bytes, and so are empty slots and
    /// the end of each home.
    pub fn flash_image(&self, image: &[u8], classes: Option<&ReuseClasses>) -> Vec<u8> {
        let HomesShape { cache_page_bytes, flash_page_bytes, .. } = self.shape;
        let (block, slots) = (cache_page_bytes as usize, self.shape.slots() as usize);
        let slot_bytes = self.shape.slot_bytes() as usize;
        let number_bytes = self.shape.number_bytes() as usize;
        let flash_bytes = self.slots.len() * flash_page_bytes as usize;
        let mut flash = vec![ERASED; flash_bytes];
        for (home, pages) in flash.chunks_exact_mut(flash_page_bytes as usize).zip(&self.slots) {
            let (header, bodies) = home.split_at_mut(slots * number_bytes);
            for (number, page) in header.chunks_exact_mut(number_bytes).zip(pages) {
                number.copy_from_slice(&page.to_le_bytes()[..number_bytes]);
            }
            for (body, page) in bodies.chunks_exact_mut(slot_bytes).zip(pages) {
                let start = (*page as usize * block).min(image.len());
                let bytes = &image[start..image.len().min(start + block)];
                body[..bytes.len()].copy_from_slice(bytes);
                let of_page = classes.and_then(|all| all.by_page().get(*page as usize));
                if let (Some(byte), Some(classes)) = (body.get_mut(block), of_page) {
                    *byte = classes.byte();
                }
            }
        }
        flash
    }
}

/// The value of an erased byte.
const ERASED: u8 = 0xFF;

/// The rule by which a register serves misses from homes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HomesRegisterDesign {
    /// The way it is read: start-column or random-column.
    model: RegisterModel,
    /// With start-column, the most slots that are skipped: beyond, a load is faster.
    most_skipped: u32,
}

impl HomesRegisterDesign {
    /// The rule of a register of `model` that skips at most `most_skipped` slots, which matters with
    /// start-column alone.
    ///
    /// # Errors
    /// A design without a rule for homes.
    pub fn new(register: RegisterDesign, most_skipped: u32) -> Result<Self> {
        let RegisterDesign { model, codeword_bytes, prefetch_lines, .. } = register;
        if !matches!(model, RegisterModel::StartColumn | RegisterModel::RandomColumn) {
            return Err(Error::design(format!(
                "homes are read by start-column or random-column, not by {}: choose one of them, \
                 or --store plain",
                model.name()
            )));
        }
        if codeword_bytes.is_some() {
            return Err(Error::design(
                "homes with codewords: their place in a home is not defined; leave out --codeword, \
                 or take --store plain",
            ));
        }
        if prefetch_lines > 0 {
            return Err(Error::design(
                "homes behind a prefetch buffer: a part that is read in place has no flash pages; \
                 leave out --prefetch-lines, or take --store plain",
            ));
        }
        Ok(Self { model, most_skipped })
    }

    /// The way the register is read: start-column or random-column.
    pub fn model(&self) -> RegisterModel {
        self.model
    }
}

/// No home in the register.
const NO_HOME: Page = Page::MAX;

/// A register that holds a home.
struct HomesRegister {
    design: HomesRegisterDesign,
    /// The page whose home is held; [`NO_HOME`] at first.
    home: Page,
    /// The slot behind the one that was fetched last.
    next: usize,
}

impl HomesRegister {
    /// A register that holds no home.
    fn new(design: HomesRegisterDesign) -> Self {
        Self { design, home: NO_HOME, next: 0 }
    }

    /// Serves a miss on `page`.
    fn request(&mut self, homes: &Homes, page: Page) -> Access {
        let block_bytes = homes.shape.slot_bytes();
        let slots = if self.home == NO_HOME { &[] } else { homes.slots(self.home) };
        let Some(slot) = self.find(slots, page) else {
            (self.home, self.next) = (page, 1);
            let header_bytes = homes.shape.header_bytes();
            return Access {
                case: RegisterCase::OtherPage,
                load: true,
                column_change: false,
                bytes_skipped: 0,
                header_bytes,
                bytes_fetched: header_bytes + block_bytes,
                distance: None,
                prefetch: None,
                prefetches: 0,
                dropped: 0,
            };
        };
        let is_forward = slot >= self.next;
        let is_random = self.design.model == RegisterModel::RandomColumn;
        let skipped = if is_random { 0 } else { (slot - self.next) as u32 * block_bytes };
        let access = Access {
            case: if is_forward { RegisterCase::Forward } else { RegisterCase::Backward },
            load: false,
            column_change: is_random && slot != self.next,
            bytes_skipped: skipped,
            header_bytes: 0,
            bytes_fetched: skipped + block_bytes,
            distance: Some(slot as i32 + 1 - self.next as i32),
            prefetch: None,
            prefetches: 0,
            dropped: 0,
        };
        self.next = slot + 1;
        access
    }

    /// The slot from which `page` is fetched without a load, if there is one.
    fn find(&self, slots: &[Page], page: Page) -> Option<usize> {
        if self.design.model == RegisterModel::RandomColumn {
            let is_next = slots.get(self.next) == Some(&page);
            return if is_next { Some(self.next) } else { slots.iter().position(|p| *p == page) };
        }
        let reachable = slots.iter().enumerate().skip(self.next);
        let mut near = reachable.take(self.design.most_skipped as usize + 1);
        near.find(|(_, other)| **other == page).map(|(slot, _)| slot)
    }
}

/// The references of a trace to cache pages of `cache_page_bytes`, collapsed.
///
/// # Errors
/// A trace that cannot be read, and [`Error::Interrupted`].
pub fn page_references(
    trace: &dyn Trace,
    cache_page_bytes: u32,
    should_continue: &dyn Fn() -> bool,
) -> Result<Vec<Page>> {
    image_pages(trace.image_bytes(), cache_page_bytes)?;
    let mut collapser = Collapser::new(cache_page_bytes.trailing_zeros());
    let mut pages = Vec::new();
    for_runs(trace, should_continue, |runs| {
        runs.iter().for_each(|run| collapser.references(*run, |page| pages.push(page)));
        Ok(())
    })?;
    Ok(pages)
}

/// Takes `references` through an empty cache of `policy`, and its misses through `homes` with an
/// empty register. `served` receives each miss and its access, until it returns false.
///
/// # Errors
/// A policy that does not suit `frames`, or that looks ahead.
pub fn serve_references(
    references: &[Page],
    policy: &PolicySpec,
    frames: u32,
    homes: &Homes,
    register: HomesRegisterDesign,
    served: &mut dyn FnMut(&Miss, &Access) -> bool,
) -> Result<()> {
    if policy.needs_next_use() {
        return Err(Error::design(format!("{policy} looks ahead, which no device can")));
    }
    let shape = Shape { frames, pages: homes.shape.pages, ways: None };
    let register = HomesRegister::new(register);
    policy.visit(shape, ServedReferences { references, homes, register, served })
}

/// A replay of references whose misses are served from homes.
struct ServedReferences<'a> {
    references: &'a [Page],
    homes: &'a Homes,
    register: HomesRegister,
    served: &'a mut dyn FnMut(&Miss, &Access) -> bool,
}

impl PolicyVisitor for ServedReferences<'_> {
    type Output = ();

    fn visit<P: Policy>(mut self, mut policy: P) {
        for &page in self.references {
            if let ReferenceOutcome::Miss { search, .. } = policy.reference(page, NEVER) {
                let access = self.register.request(self.homes, page);
                if !(self.served)(&Miss { page, search }, &access) {
                    break;
                }
            }
        }
    }
}

/// A miss of the cache, for a store to serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Miss {
    /// The cache page.
    pub page: Page,
    /// The search for a victim.
    pub search: VictimSearch,
}

/// Replays `trace` through `cache`. Returns the counts with `register` behind the plain store, and
/// all misses in their order.
///
/// # Errors
/// The errors of [`replay`].
pub fn replay_misses(
    trace: &dyn Trace,
    cache: &CacheDesign,
    register: RegisterDesign,
    should_continue: &dyn Fn() -> bool,
) -> Result<(Counts, Vec<Miss>)> {
    let mut misses = Vec::new();
    let sink = &mut |_: usize, fault: &Fault| {
        misses.push(Miss { page: fault.page, search: fault.search });
    };
    let events = Events { critical_block_bytes: None, sink, begun: None, words: None };
    let (mut counts, _) = replay(trace, cache, &[register], should_continue, Some(events))?;
    Ok((counts.swap_remove(0), misses))
}

/// Counts of the store that served some misses.
pub struct StoreCounts(AccessCounts);

impl StoreCounts {
    /// The counts of the same replay with the plain store, `plain`, with these of the store.
    pub fn instead_of(&self, plain: &Counts) -> Counts {
        let mut counts = plain.clone();
        self.0.write_to(&mut counts);
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(pages: u32) -> HomesShape {
        HomesShape { cache_page_bytes: 16, flash_page_bytes: 64, pages, has_classes: false }
    }

    fn register(model: RegisterModel, most_skipped: u32) -> HomesRegisterDesign {
        let flash_page_bytes = 1024;
        let design =
            RegisterDesign { model, flash_page_bytes, codeword_bytes: None, prefetch_lines: 0 };
        HomesRegisterDesign::new(design, most_skipped).expect("a register with homes")
    }

    fn misses(pages: &[Page]) -> Vec<Miss> {
        pages.iter().map(|page| Miss { page: *page, search: VictimSearch::default() }).collect()
    }

    #[test]
    fn a_home_has_a_header_and_slots() {
        for (flash_page_bytes, cache_page_bytes, pages, number_bytes, slots) in [
            (512, 64, 255, 1, 7),
            (512, 64, 256, 2, 7),
            (2048, 64, 255, 1, 31),
            (2048, 64, 256, 2, 31),
            (512, 16, 255, 1, 30),
            (512, 16, 256, 2, 28),
            (64, 16, 9, 1, 3),
        ] {
            let shape =
                HomesShape { cache_page_bytes, flash_page_bytes, pages, has_classes: false };
            assert_eq!((shape.number_bytes(), shape.slots()), (number_bytes, slots));
            assert_eq!(shape.header_bytes(), number_bytes * slots);
            assert!(shape.header_bytes() + slots * cache_page_bytes <= flash_page_bytes);
        }
        assert!(HomesShape::new(4096, 64, 128, false).is_err());
        assert!(HomesShape::new(4096, 64, 64, false).is_err());
        assert!(HomesShape::new(1 << 22, 32, 2048, false).is_err());
    }

    #[test]
    fn start_column_skips_as_far_as_it_pays() {
        let homes = Homes::of_neighbours(shape(9));
        // Page 0 loads 0 1 2; 2 is one slot on; 1 lies before; 3 is in the next slot but one.
        let pages = misses(&[0, 2, 1, 3, 4]);
        let counts = homes.serve(register(RegisterModel::StartColumn, 1), &pages, |_, _| ());
        let counts = counts.instead_of(&Counts::default());
        assert_eq!((counts.loads, counts.other_page), (3, 3));
        assert_eq!((counts.forward, counts.backward, counts.column_changes), (2, 0, 0));
        assert_eq!((counts.bytes_skipped, counts.header_bytes_fetched), (32, 9));
        assert_eq!(counts.bytes_fetched, 5 * 16 + 32 + 9);
        assert_eq!(counts.loads_by_flash_page, [(0, 1), (1, 1), (4, 1)]);
        assert_eq!(counts.distance_histogram, [(2, 2)]);
        let counts = homes.serve(register(RegisterModel::StartColumn, 0), &pages, |_, _| ());
        assert_eq!(counts.instead_of(&Counts::default()).loads, 4);
    }

    #[test]
    fn random_column_changes_the_column_unless_the_slot_is_next() {
        let homes = Homes::of_neighbours(shape(9));
        let pages = misses(&[0, 2, 1, 2, 0, 3]);
        let counts = homes.serve(register(RegisterModel::RandomColumn, 0), &pages, |_, _| ());
        let counts = counts.instead_of(&Counts::default());
        assert_eq!((counts.loads, counts.forward, counts.backward), (2, 2, 2));
        assert_eq!((counts.column_changes, counts.bytes_skipped), (3, 0));
        assert_eq!(counts.bytes_fetched, 6 * 16 + 2 * 3);
        assert_eq!(counts.distance_histogram, [(-2, 1), (-1, 1), (1, 1), (2, 1)]);
    }

    #[test]
    fn a_class_byte_takes_slots_from_homes() {
        for (page, flash, pages) in (3..=10).flat_map(|page: u32| {
            (page + 1..=14).flat_map(move |flash| [200, 300].map(|pages| (page, flash, pages)))
        }) {
            let plain = HomesShape {
                cache_page_bytes: 1 << page,
                flash_page_bytes: 1 << flash,
                pages,
                has_classes: false,
            };
            let slots = HomesShape { has_classes: true, ..plain }.slots();
            let taken = (1 << page) + 1 + if pages == 200 { 1 } else { 2 };
            assert_eq!(slots, (1 << flash) / taken);
            assert!(slots <= plain.slots(), "{page} {flash} {pages}");
        }
    }

    #[test]
    fn the_flash_image_has_headers_and_copies() {
        let image: Vec<u8> = (0..40).collect();
        let shape = HomesShape::new(40, 16, 64, false).expect("homes");
        let homes = Homes::new(shape, vec![vec![0, 2, 1], vec![1], vec![2, 0]]).expect("homes");
        let flash = homes.flash_image(&image, None);
        assert_eq!(flash.len(), 3 * 64);
        assert_eq!(flash[..3], [0, 2, 1]);
        assert_eq!(flash[3..19], image[..16]);
        assert_eq!(flash[19..27], image[32..]);
        assert!(flash[27..35].iter().all(|byte| *byte == ERASED));
        assert_eq!(flash[35..51], image[16..32]);
        assert_eq!(flash[64..67], [1, ERASED, ERASED]);
        assert!(flash[83..128].iter().all(|byte| *byte == ERASED));
        assert!(Homes::new(shape, vec![vec![0], vec![0], vec![2]]).is_err());
        assert!(Homes::new(shape, vec![vec![0], vec![1], vec![2, 3]]).is_err());
    }
}
