//! Reuse classes: what a fill and a use of each page are worth to a policy.

use flashpager_base::{Error, Result};

use super::{Page, PolicyParameter, Shape};

/// The largest class.
pub const MAX_CLASS: u8 = 3;

/// The classes of a page, each from 0 to [`MAX_CLASS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageClasses {
    /// The class of a fill.
    pub fill: u8,
    /// The class of a use.
    pub used: u8,
}

impl PageClasses {
    /// The same class for fill and use.
    pub const fn both(class: u8) -> Self {
        Self { fill: class, used: class }
    }

    /// All 16 pairs, ascending by the fill and then by the use.
    pub fn all() -> impl Iterator<Item = Self> {
        let of_fill = |fill| (0..=MAX_CLASS).map(move |used| Self { fill, used });
        (0..=MAX_CLASS).flat_map(of_fill)
    }

    /// The byte that stands beside the page in flash: the class of a fill in bits 0 and 1, that of
    /// a use in bits 2 and 3.
    pub fn byte(self) -> u8 {
        self.used << 2 | self.fill
    }
}

/// The classes of all pages of an image, by page.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReuseClasses(Vec<PageClasses>);

impl ReuseClasses {
    /// The classes of pages 0, 1 and so on.
    ///
    /// # Errors
    /// A class above [`MAX_CLASS`].
    pub fn new(classes: Vec<PageClasses>) -> Result<Self> {
        let wrong = |one: &PageClasses| one.fill > MAX_CLASS || one.used > MAX_CLASS;
        if let Some(page) = classes.iter().position(wrong) {
            let PageClasses { fill, used } = classes[page];
            return Err(Error::design(format!(
                "reuse classes {fill} and {used} of page {page}: a class is from 0 to {MAX_CLASS}"
            )));
        }
        Ok(Self(classes))
    }

    /// The classes by page.
    pub fn by_page(&self) -> &[PageClasses] {
        &self.0
    }

    /// The number of pages.
    pub fn pages(&self) -> u32 {
        self.0.len() as u32
    }
}

/// The classes of each page, as a policy looks them up.
pub(super) struct ClassTable {
    /// The trained classes by page; empty without.
    trained: Vec<PageClasses>,
    /// The classes of pages that were not trained.
    default: PageClasses,
}

impl ClassTable {
    /// The classes that a policy of `shape` takes from its parameters. Without trained classes all
    /// are `class`.
    ///
    /// # Errors
    /// Classes for an image of another size.
    pub(super) fn new(shape: Shape, parameters: &[PolicyParameter], class: u8) -> Result<Self> {
        let default = PageClasses::both(class);
        let Some(PolicyParameter::Classes(classes)) = parameters.first() else {
            return Ok(Self { trained: Vec::new(), default });
        };
        if classes.pages() != shape.pages {
            return Err(Error::design(format!(
                "reuse classes of {} pages for an image of {}: train them on traces of this \
                 program, with this cache page",
                classes.pages(),
                shape.pages
            )));
        }
        Ok(Self { trained: classes.by_page().to_vec(), default })
    }

    /// The classes of `page`.
    #[inline]
    pub(super) fn of(&self, page: Page) -> PageClasses {
        self.trained.get(page as usize).copied().unwrap_or(self.default)
    }
}
