//! Names of functions, as they are written in their language.

use std::fmt::{self, Write};
use std::path::Path;

/// Longest name, in bytes. A short mangled name can stand for gigabytes.
const MAX_BYTES: usize = 2048;

/// Text of at most [`MAX_BYTES`]. More is an error.
#[derive(Default)]
struct BoundedText(String);

impl Write for BoundedText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > MAX_BYTES {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// Demangles a name of Rust or C++. Other names stay as they are; one that is too long is cut off.
pub fn demangled(name: &str) -> String {
    rust(name).or_else(|| cpp(name)).unwrap_or_else(|| bounded(name))
}

/// Returns true if `given` can mean the function `name`. It may be the name as the linker has it,
/// or the demangled name with its parameters or without.
pub fn is_called(name: &str, given: &str) -> bool {
    let is_written = |written: &str| {
        written.strip_prefix(given).is_some_and(|rest| rest.is_empty() || rest.starts_with('('))
    };
    name == given || !given.is_empty() && is_written(&demangled(name))
}

/// Cuts a name off if it is too long.
pub fn bounded(name: &str) -> String {
    let end = (0..=MAX_BYTES.min(name.len())).rev().find(|end| name.is_char_boundary(*end));
    name[..end.unwrap_or(0)].to_owned()
}

fn rust(name: &str) -> Option<String> {
    // Older names of Rust are names of C++ with a hash at their end.
    if !(name.starts_with("_R") || name.contains("17h")) || name.len() > MAX_BYTES {
        return None;
    }
    let parsed = rustc_demangle::try_demangle(name).ok()?;
    let mut text = BoundedText::default();
    write!(text, "{parsed:#}").ok()?;
    Some(text.0)
}

fn cpp(name: &str) -> Option<String> {
    if !name.starts_with("_Z") || name.len() > MAX_BYTES {
        return None;
    }
    let parsed = cpp_demangle::Symbol::new(name).ok()?;
    let mut text = BoundedText::default();
    parsed.structured_demangle(&mut text, &cpp_demangle::DemangleOptions::default()).ok()?;
    Some(text.0)
}

/// Returns the last part of a path, cut off if it is too long.
pub fn file_name(path: &str) -> String {
    let name = Path::new(path).file_name().map(|name| name.to_string_lossy());
    bounded(name.as_deref().unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_were_written() {
        for (mangled, name) in [
            ("main", "main"),
            ("_start", "_start"),
            ("_ZN5radio4sendEPKhj", "radio::send(unsigned char const*, unsigned int)"),
            ("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"),
            ("_RNvC6_123foo3bar", "123foo::bar"),
            ("_Z", "_Z"),
            ("_RN", "_RN"),
            ("", ""),
        ] {
            assert_eq!(demangled(mangled), name);
        }
    }

    #[test]
    fn functions_are_called_by_any_of_their_names() {
        let send = "_ZN5radio4sendEPKhj";
        for name in [send, "radio::send", "radio::send(unsigned char const*, unsigned int)"] {
            assert!(is_called(send, name), "{name}");
        }
        for name in ["", "send", "radio", "radio::sen", "radio::send()", "radio::send("] {
            assert!(!is_called(send, name), "{name}");
        }
        assert!(is_called("main", "main") && !is_called("main", "mai"));
    }

    #[test]
    fn endless_names_are_cut_off() {
        let long = "é".repeat(MAX_BYTES);
        assert!(long.starts_with(&demangled(&long)) && demangled(&long).len() <= MAX_BYTES);
        let mut bomb = "_Z1fI1a".to_owned();
        for level in 0..30 {
            let back = if level == 0 { "S_".to_owned() } else { format!("S{}_", level - 1) };
            bomb.push_str(&format!("N{back}1bE{back}"));
        }
        assert!(demangled(&bomb).len() <= MAX_BYTES.max(bomb.len()));
    }
}
