//! The units that names mean: those of units, and those of functions that lie in one.

use flashpager_base::{Error, Result, did_you_mean, shown};
use flashpager_binary::link::recorded_at;
use flashpager_binary::names::is_called;
use flashpager_layout::Units;
use flashpager_trace::{Symbol, TraceInfo};

/// Largest number of units that an error lists.
const SHOWN: usize = 3;

/// Units that were named.
pub(crate) struct NamedUnits {
    /// Their numbers, each once, as they were named.
    pub(crate) numbers: Vec<u32>,
    /// The names of functions that are no units, with the unit that each lies in.
    pub(crate) notes: Vec<String>,
}

impl NamedUnits {
    /// The units of these names. A name may be that of a function inside of a unit, such as another
    /// name of the unit, an entry in its middle, or a function of an input section.
    ///
    /// # Errors
    /// Names of nothing, of functions in several units, and of units that stay.
    pub(crate) fn of(units: &Units, info: &TraceInfo, names: &[String]) -> Result<Self> {
        let mut named = Self { numbers: Vec::new(), notes: Vec::new() };
        for name in names {
            let own = units.all().iter().position(|unit| unit.name == *name);
            let number = match own {
                Some(number) => number,
                None => {
                    let number = holder(units, info, name)?;
                    let unit = shown(&units.all()[number].name);
                    named.notes.push(format!("{} lies in {unit}, which is meant", shown(name)));
                    number
                }
            };
            if units.all()[number].fixed {
                let inside = match own {
                    Some(_) => String::new(),
                    None => format!("lies in {}, which ", shown(&units.all()[number].name)),
                };
                let message = format!("'{}' {inside}stays where it is", shown(name));
                return Err(Error::design(message));
            }
            if !named.numbers.contains(&(number as u32)) {
                named.numbers.push(number as u32);
            }
        }
        Ok(named)
    }
}

/// The unit that holds the functions of a name.
fn holder(units: &Units, info: &TraceInfo, name: &str) -> Result<usize> {
    let placed = recorded_at(name);
    let is_meant = |symbol: &&Symbol| {
        is_called(&symbol.name, name) || placed == Some((symbol.name.as_str(), symbol.offset))
    };
    let symbols = info.symbols().filter(is_meant);
    let mut holders: Vec<usize> = symbols.filter_map(|one| units.owner(one.offset)).collect();
    holders.sort_unstable();
    holders.dedup();
    match holders[..] {
        [number] => Ok(number),
        [] => {
            let known = units.all().iter().map(|unit| unit.name.as_str());
            let near = did_you_mean(name, known.chain(info.symbols().map(|one| one.name.as_str())));
            Err(Error::design(format!("'{}' is no unit of the image{near}", shown(name))))
        }
        _ => {
            let unit = |number: &usize| shown(&units.all()[*number].name);
            let some: Vec<String> = holders.iter().take(SHOWN).map(unit).collect();
            Err(Error::design(format!(
                "'{}' names functions of {} units ({}{}): name the units that you mean",
                shown(name),
                holders.len(),
                some.join(", "),
                if holders.len() > SHOWN { " …" } else { "" }
            )))
        }
    }
}
