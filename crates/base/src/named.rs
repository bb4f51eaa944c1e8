//! Enums whose values people choose by name.

use crate::{Error, Result, did_you_mean};

/// Gives an enum its names: `ALL`, `name`, `Display`, and a `FromStr` whose error lists the known
/// names and the nearest ones.
///
/// ```
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// enum Colour {
///     Red,
///     DarkBlue,
/// }
///
/// flashpager_base::named! {
///     Colour: "unknown colour",
///     "red" => Red,
///     "dark-blue" => DarkBlue,
/// }
///
/// assert_eq!("dark-blue".parse::<Colour>()?, Colour::DarkBlue);
/// assert_eq!(Colour::Red.to_string(), "red");
/// let error = "read".parse::<Colour>().unwrap_err();
/// let line = "unknown colour 'read'; did you mean red? (known: red, dark-blue)";
/// assert_eq!(error.to_string(), line);
/// # Ok::<(), flashpager_base::Error>(())
/// ```
#[macro_export]
macro_rules! named {
    ($type:ident: $unknown:literal, $($name:literal => $variant:ident),+ $(,)?) => {
        impl $type {
            /// All variants, with their names.
            pub const ALL: [(&'static str, Self); [$($name),+].len()] =
                [$(($name, Self::$variant)),+];

            /// The name of the variant.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }
        }

        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl ::std::str::FromStr for $type {
            type Err = $crate::Error;

            fn from_str(text: &str) -> $crate::Result<Self> {
                $crate::find_named($unknown, text, &Self::ALL)
            }
        }
    };
}

/// Finds the value named `text` in `all`; `unknown` begins the message of the error.
#[doc(hidden)]
pub fn find_named<T: Copy>(unknown: &str, text: &str, all: &[(&'static str, T)]) -> Result<T> {
    all.iter().find(|(name, _)| *name == text).map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        unknown_name(unknown, text, &names)
    })
}

fn unknown_name(unknown: &str, text: &str, names: &[&str]) -> Error {
    let near = did_you_mean(text, names.iter().copied());
    Error::design(format!("{unknown} '{text}'{near} (known: {})", names.join(", ")))
}
