//! The file of trained reuse classes: text, one page a line.

use std::fmt::Write;
use std::str::FromStr;
use std::sync::Arc;

use flashpager_base::{Error, Result};
use flashpager_replay::pager::{PageClasses, PolicySpec, ReuseClasses};

/// The first words of a file.
const MAGIC: &str = "flashpager reuse classes";
/// The largest number of pages that a file may name.
const MAX_PAGES: usize = flashpager_replay::MAX_HOMES as usize;

/// The contents of a file of reuse classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClassesFile {
    /// The policy for which they were trained.
    pub(crate) policy: String,
    /// Bytes of a cache page.
    pub(crate) cache_page_bytes: u32,
    /// The classes by page.
    pub(crate) classes: Arc<ReuseClasses>,
}

impl ClassesFile {
    /// Reads a file.
    ///
    /// # Errors
    /// A file that cannot be read or is no file of classes, with the line.
    pub(crate) fn read(path: &str) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::data(path.to_owned(), format!("cannot be read: {error}")))?;
        Self::parsed(path, &text)
    }

    /// The contents of `text`, which is that of the file `path`.
    fn parsed(path: &str, text: &str) -> Result<Self> {
        let mut lines = text.lines().zip(1..).filter(|(line, _)| !line.starts_with('#'));
        let last = text.lines().count().max(1) as u32;
        let wrong = |line: u32, what: &str| {
            let help = "make the file with flashpager homes --train-classes";
            Error::data(path.to_owned(), format!("line {line}: {what}; {help}"))
        };
        let head = |words: Option<(&str, u32)>, name: &str| {
            let Some((line, number)) = words else {
                let missing = format!("the file ends here, and '{name}' and its value are missing");
                return Err(wrong(last, &missing));
            };
            match line.strip_prefix(name).map(str::trim) {
                Some(value) if !value.is_empty() => Ok((value.to_owned(), number)),
                _ => Err(wrong(number, &format!("'{name}' and its value should stand here"))),
            }
        };
        let (policy, at_policy) = head(lines.next(), MAGIC)?;
        let (page, at_page) = head(lines.next(), "cache-page")?;
        let (pages, at_pages) = head(lines.next(), "pages")?;
        let Some(cache_page_bytes) = number(&page) else {
            return Err(wrong(at_page, "the bytes of a cache page are a whole number"));
        };
        let Some(pages) = number::<usize>(&pages).filter(|pages| (1..=MAX_PAGES).contains(pages))
        else {
            return Err(wrong(at_pages, &format!("the image has 1 to {MAX_PAGES} pages")));
        };
        let spec: PolicySpec =
            policy.parse().map_err(|error: Error| wrong(at_policy, &error.to_string()))?;
        let Some(class) = spec.default_class() else {
            return Err(wrong(at_policy, &format!("{policy} has no reuse classes")));
        };
        let mut classes = vec![PageClasses::both(class); pages];
        let mut is_listed = vec![false; pages];
        for (line, at) in lines {
            let words: Vec<Option<usize>> = line.split_whitespace().map(number).collect();
            let [Some(page), Some(fill @ 0..=3), Some(used @ 0..=3)] = words[..] else {
                return Err(wrong(
                    at,
                    "a page, the class of a fill and that of a use should stand here",
                ));
            };
            let Some(of_page) = classes.get_mut(page) else {
                return Err(wrong(at, &format!("page {page} of an image of {pages}")));
            };
            if std::mem::replace(&mut is_listed[page], true) {
                return Err(wrong(at, &format!("page {page} is listed twice")));
            }
            *of_page = PageClasses { fill: fill as u8, used: used as u8 };
        }
        let classes = Arc::new(ReuseClasses::new(classes)?);
        Ok(Self { policy, cache_page_bytes, classes })
    }

    /// The text of the file. Pages with the policy's own classes are left out.
    ///
    /// # Errors
    /// A policy without classes.
    pub(crate) fn text(&self) -> Result<String> {
        let spec: PolicySpec = self.policy.parse()?;
        let default = spec.default_class().map(PageClasses::both);
        let mut text = format!(
            "{MAGIC} {}\ncache-page {}\npages {}\n",
            self.policy,
            self.cache_page_bytes,
            self.classes.pages()
        );
        for (page, classes) in self.classes.by_page().iter().enumerate() {
            if Some(*classes) != default {
                let PageClasses { fill, used } = classes;
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{page} {fill} {used}");
            }
        }
        Ok(text)
    }

    /// The policy of a design with the classes of the file `path`, or as it is without a file.
    ///
    /// # Errors
    /// A file that does not suit the policy or the cache page.
    pub(crate) fn policy(
        policy: &str,
        cache_page_bytes: u32,
        path: Option<&str>,
    ) -> Result<PolicySpec> {
        let policy: PolicySpec = policy.parse()?;
        let Some(path) = path else { return Ok(policy) };
        let file = Self::read(path)?;
        if file.policy != policy.to_string() || file.cache_page_bytes != cache_page_bytes {
            return Err(Error::design(format!(
                "{path}: reuse classes for {} and cache pages of {} bytes, not for {policy} and \
                 {cache_page_bytes}: take the design for which they were trained",
                file.policy, file.cache_page_bytes
            )));
        }
        policy.with_classes(file.classes)
    }
}

/// A word as a number; `None` if it is none.
fn number<T: FromStr>(word: &str) -> Option<T> {
    word.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let mut by_page = vec![PageClasses::both(3); 12];
        by_page[7] = PageClasses { fill: 0, used: 2 };
        let classes = Arc::new(ReuseClasses::new(by_page).expect("classes"));
        let file = ClassesFile { policy: "lru-array".into(), cache_page_bytes: 64, classes };
        let text = file.text().expect("a text");
        assert_eq!(text, "flashpager reuse classes lru-array\ncache-page 64\npages 12\n7 0 2\n");
        assert_eq!(ClassesFile::parsed("file", &text).expect("a file"), file);
    }

    #[test]
    fn a_wrong_line_is_named() {
        let head = "flashpager reuse classes gclock\ncache-page 64\npages 12\n";
        for (text, words) in [
            (String::new(), "file: line 1: the file ends here, and 'flashpager reuse classes'"),
            ("# one\nwords\n".into(), "line 2: 'flashpager reuse classes' and its value"),
            (head.replace("pages 12\n", "# none\n"), "line 3: the file ends here, and 'pages'"),
            (format!("# one\n{}", head.replace("gclock", "lru")), "line 2: lru has no reuse"),
            (format!("# one\n{}", head.replace("gclock", "xyz")), "file: line 2: unknown policy"),
            (head.replace("64", "x"), "line 2: the bytes of a cache page"),
            (head.replace("12", "70000"), "line 3: the image has 1 to 65535 pages"),
            (head.replace("12", "0"), "line 3: the image has 1 to 65535 pages"),
            (format!("{head}1 2 3\n2 0 0\n1 2 3\n"), "line 6: page 1 is listed twice"),
            (format!("{head}1 2 3\n12 0 0\n"), "line 5: page 12 of an image of 12"),
            (format!("{head}1 4 3\n"), "line 4: a page, the class of a fill"),
            (format!("{head}1 3\n"), "line 4: a page, the class of a fill"),
        ] {
            let error = ClassesFile::parsed("file", &text).expect_err(words).to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
