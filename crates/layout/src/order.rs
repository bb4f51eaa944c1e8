//! Orders of units.

use flashpager_base::{Error, Result, did_you_mean, shown};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::units::Units;

/// All movable units of an image, each once, in the order in which they are laid out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Order(Vec<u32>);

impl Order {
    /// Returns the order in which the units lie in the recorded image.
    pub fn original(units: &Units) -> Self {
        Self(units.movable().to_vec())
    }

    /// Makes an order of the numbers of units.
    ///
    /// # Errors
    /// Numbers that are not those of all movable units, each once.
    pub fn new(units: &Units, numbers: Vec<u32>) -> Result<Self> {
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        if sorted == units.movable() {
            Ok(Self(numbers))
        } else {
            Err(Error::design("an order names each movable unit once"))
        }
    }

    /// Makes an order of the names of units. Units that are not named follow as they lie in the
    /// recorded image.
    ///
    /// # Errors
    /// Names of no unit, of a unit that stays or is resident, and names that occur twice.
    pub fn of_names<'a>(units: &Units, names: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let mut numbers = Self::named(units, names)?;
        let named: FxHashSet<u32> = numbers.iter().copied().collect();
        numbers.extend(units.movable().iter().filter(|number| !named.contains(number)));
        Ok(Self(numbers))
    }

    /// Returns the numbers of the movable units with these names.
    pub(crate) fn named<'a>(
        units: &Units,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<u32>> {
        let numbered = units.all().iter().enumerate();
        let known: FxHashMap<&str, u32> =
            numbered.map(|(number, unit)| (unit.name.as_str(), number as u32)).collect();
        let mut numbers = Vec::new();
        let mut taken = FxHashSet::default();
        for name in names {
            let refused = |reason: &str| Err(Error::design(format!("'{}' {reason}", shown(name))));
            let Some(&number) = known.get(name) else {
                let near = did_you_mean(name, known.keys().copied());
                return refused(&format!("is no unit of the image{near}"));
            };
            if units.all()[number as usize].fixed {
                return refused("stays where it is");
            }
            if units.is_resident(number as usize) {
                return refused("is resident");
            }
            if !taken.insert(number) {
                return refused("comes twice");
            }
            numbers.push(number);
        }
        Ok(numbers)
    }

    /// Returns the numbers of the units in order.
    pub fn numbers(&self) -> &[u32] {
        &self.0
    }

    /// Returns the names of the units in order.
    pub fn names<'a>(&'a self, units: &'a Units) -> impl Iterator<Item = &'a str> {
        self.0.iter().map(|number| units.all()[*number as usize].name.as_str())
    }
}

impl Units {
    /// Returns the units with those of these names resident: they lie in RAM and leave the flash image.
    ///
    /// # Errors
    /// Names of no unit or of a unit that stays, and images without a movable unit left.
    pub fn with_resident<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let units = self.with_resident_numbers(&Order::named(self, names)?);
        if units.movable().is_empty() {
            return Err(Error::design(
                "all that can be moved is resident: nothing is left to order",
            ));
        }
        Ok(units)
    }
}
