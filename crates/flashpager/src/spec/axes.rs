//! Axes: the fields of a design that an exploration may vary.

use std::str::FromStr;

use super::*;
use flashpager_base::sizes::{below_4_gib, power_of_two};

/// A value of a field, before the field checks it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// None: a flash page is then the part's own, and there is no codeword or critical block.
    Nothing,
    /// A name.
    Text(String),
    /// Bytes, or a number of things.
    Size(u64),
    /// Yes or no.
    Flag(bool),
}

impl Value {
    pub(super) fn text(self) -> Result<String> {
        match self {
            Self::Text(text) => Ok(text),
            other => Err(Error::design(format!("{other:?} is not text"))),
        }
    }

    fn size(self) -> Result<u64> {
        match self {
            Self::Size(bytes) => Ok(bytes),
            other => Err(Error::design(format!("{other:?} is not a size"))),
        }
    }
}

/// The kind of values that an axis holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxisKind {
    /// A name.
    Name,
    /// A name, or none.
    NameOrNone,
    /// Bytes, any number of them.
    Bytes,
    /// Bytes, any number of them, or none.
    BytesOrNone,
    /// Bytes of a page, a power of two.
    PageBytes,
    /// Bytes of a page, a power of two, or none.
    PageBytesOrNone,
    /// A number of things, or none.
    CountOrNone,
    /// A number of things; 0 stands for none.
    CountOrZero,
}

impl AxisKind {
    /// Returns true if values are numbers.
    pub fn is_size(self) -> bool {
        !matches!(self, Self::Name | Self::NameOrNone)
    }

    /// Returns true if values are numbers of things, not of bytes.
    pub fn is_count(self) -> bool {
        matches!(self, Self::CountOrNone | Self::CountOrZero)
    }

    /// Returns true if a value may be none.
    pub fn may_be_none(self) -> bool {
        !matches!(self, Self::Name | Self::Bytes | Self::PageBytes)
    }

    fn is_power_of_two(self) -> bool {
        matches!(self, Self::PageBytes | Self::PageBytesOrNone)
    }
}

/// A field of a design that an exploration may vary. Its flag is its title with dashes.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// The field of [`DesignSpec`], which is also the column of a table and the key of a board.
    pub name: &'static str,
    /// The field's name for people.
    pub title: &'static str,
    /// The kind of its values.
    pub kind: AxisKind,
    /// The placeholder of a value in a usage line.
    pub metavar: &'static str,
    pub(super) help: fn() -> String,
    pub(super) all: Option<fn() -> Vec<&'static str>>,
    /// Looks a name up and returns it spelled in one way.
    pub(super) checked: fn(&str) -> Result<String>,
    pub(super) set: fn(&mut DesignSpec, AxisKind, Value) -> Result<()>,
}

impl Axis {
    /// Sets the field of `design`.
    ///
    /// # Errors
    /// A value of another kind, and a page that is not below 4 GiB.
    pub(super) fn set(&self, design: &mut DesignSpec, value: Value) -> Result<()> {
        (self.set)(design, self.kind, value)
    }

    /// One line of help.
    pub fn help(&self) -> String {
        (self.help)()
    }

    /// The documentation of its field.
    pub fn description(&self) -> &'static str {
        FIELDS.iter().find(|(name, _)| *name == self.name).map_or("", |(_, about)| about)
    }

    /// Returns true if the setting may be empty.
    pub fn may_be_none(&self) -> bool {
        self.kind.may_be_none()
    }

    /// The values that `all` stands for; `None` if it stands for none.
    pub fn all(&self) -> Option<Vec<&'static str>> {
        self.all.map(|all| all())
    }

    /// Checks a value by itself, before it is combined with others. Returns it spelled in one
    /// way, so that equal ones are known to be.
    ///
    /// # Errors
    /// Values that no design can have, such as an unknown part.
    pub fn checked(&self, value: Value) -> Result<Value> {
        match value {
            Value::Text(text) if text == NONE && self.may_be_none() => Ok(Value::Nothing),
            Value::Text(text) => (self.checked)(&text).map(Value::Text),
            Value::Size(bytes) if self.kind.is_power_of_two() => {
                power_of_two(self.title, below_4_gib(self.name, bytes)?)?;
                Ok(value)
            }
            _ => Ok(value),
        }
    }
}

/// The type of a field that is an axis.
pub(super) trait AxisField {
    /// Sets the field called `name`, an axis of `kind`.
    fn set(&mut self, name: &str, kind: AxisKind, value: Value) -> Result<()>;
}

impl AxisField for String {
    fn set(&mut self, _name: &str, _kind: AxisKind, value: Value) -> Result<()> {
        *self = value.text()?;
        Ok(())
    }
}

impl AxisField for Option<String> {
    fn set(&mut self, _name: &str, kind: AxisKind, value: Value) -> Result<()> {
        *self = match value {
            Value::Nothing if kind.may_be_none() => None,
            value => Some(value.text()?),
        };
        Ok(())
    }
}

impl AxisField for u64 {
    fn set(&mut self, _name: &str, _kind: AxisKind, value: Value) -> Result<()> {
        *self = value.size()?;
        Ok(())
    }
}

impl AxisField for u32 {
    fn set(&mut self, name: &str, _kind: AxisKind, value: Value) -> Result<()> {
        *self = below_4_gib(name, value.size()?)?;
        Ok(())
    }
}

impl AxisField for Option<u32> {
    fn set(&mut self, name: &str, kind: AxisKind, value: Value) -> Result<()> {
        *self = match value {
            Value::Nothing => None,
            value => Some(below_4_gib(name, value.size()?)?),
        };
        if kind == AxisKind::CountOrZero {
            *self = self.filter(|count| *count > 0);
        }
        Ok(())
    }
}

/// The axis of a field.
///
/// # Errors
/// A field that is not an axis.
pub fn axis(name: &str) -> Result<&'static Axis> {
    AXES.iter()
        .find(|axis| axis.name == name)
        .ok_or_else(|| Error::design(format!("{name} is nothing that can be varied")))
}

/// Checks a name of `T`, and returns it spelled as it spells itself.
pub(super) fn parsed<T: FromStr<Err = Error> + ToString>(text: &str) -> Result<String> {
    text.parse::<T>().map(|number| number.to_string())
}

/// Checks a name of `T`, and returns it as it is given.
pub(super) fn known<T: FromStr<Err = Error>>(text: &str) -> Result<String> {
    text.parse::<T>().map(|_| text.to_owned())
}

/// Refuses names, for an axis of sizes.
pub(super) fn no_name(text: &str) -> Result<String> {
    Err(Error::design(format!("'{text}' is no size")))
}

/// A policy with its parameters; those that may be left out are in brackets.
pub(super) fn spelled((name, parameters): &(&str, usize)) -> String {
    if *parameters == 0 {
        return (*name).into();
    }
    let written = format!("({})", vec!["N"; *parameters].join(","));
    if name.parse::<PolicySpec>().is_ok() {
        format!("{name}[{written}]")
    } else {
        format!("{name}{written}")
    }
}

/// The names of all register models.
pub(super) fn registers() -> Vec<&'static str> {
    RegisterModel::ALL.iter().map(|(name, _)| *name).collect()
}

/// The names of all stores.
pub(super) fn stores() -> Vec<&'static str> {
    Store::ALL.iter().map(|(name, _)| *name).collect()
}

/// The names of all ways to fetch a line.
pub(super) fn line_fetches() -> Vec<&'static str> {
    LineFetch::ALL.iter().map(|(name, _)| *name).collect()
}

/// The names of all schedules.
pub(super) fn schedules() -> Vec<&'static str> {
    Schedule::ALL.iter().map(|(name, _)| *name).collect()
}

/// The policies without parameters that take any number of frames. Hardware has powers of two,
/// and a byte numbers 255 frames.
pub(super) fn policies_without_parameters() -> Vec<&'static str> {
    let takes = |spec: &PolicySpec| [3, u32::MAX].iter().all(|frames| spec.check(*frames).is_ok());
    let takes_any = |name: &str| name.parse().is_ok_and(|spec: PolicySpec| takes(&spec));
    let plain = pager::POLICIES.iter().filter(|(_, parameters)| *parameters == 0);
    plain.map(|(name, _)| *name).filter(|name| takes_any(name)).collect()
}
