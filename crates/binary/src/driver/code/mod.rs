//! The code of a function in an object file: its bytes, its relocations, and its instructions.

mod reader;
mod walk;

use std::collections::BTreeMap;

use flashpager_base::{Error, Result, shown};
use object::{Object, ObjectSection};

use super::instruction::{AddressExpression, Expression, Instruction, Machine};
use reader::{FunctionReader, is_memory};
use walk::{Disassembly, literal};

/// A function of an object file, disassembled.
pub struct FunctionCode {
    pub architecture: &'static str,
    pub machine: Machine,
    /// Instructions, sorted by address.
    pub instructions: Vec<Instruction>,
    pub entry: u64,
    /// Name of the called function, by the address of the call.
    pub calls: BTreeMap<u64, String>,
    /// Constants beside the code, by address.
    literals: BTreeMap<u64, Expression>,
    /// Address ranges of the program's memory; empty if the file is not linked.
    memory: Vec<(u64, u64)>,
    /// Symbols of memory in this file.
    variables: Vec<u32>,
}

impl FunctionCode {
    /// Disassembles the function `name` of the file `bytes`. Errors name the file `file_name`.
    pub fn of(bytes: &[u8], file_name: &str, name: &str) -> Result<Self> {
        let wrong = |reason: String| Error::data(file_name, reason);
        if !bytes.starts_with(b"\x7fELF") {
            return Err(wrong("is no ELF file; name the object file of the driver".into()));
        }
        let file = object::File::parse(bytes)
            .map_err(|e| wrong(format!("is a damaged ELF file ({}); make it again", shown(e))))?;
        read(&FunctionReader { file, file_name, name })
    }

    /// Returns the constant at `address` beside the code.
    pub fn literal(&self, address: u64) -> Option<Expression> {
        self.literals.get(&address).copied()
    }

    /// Returns true if the file has memory of the program at `address`.
    pub fn has_memory_at(&self, address: u64) -> bool {
        self.memory.iter().any(|(start, end)| (*start..*end).contains(&address))
    }

    /// Returns true if `symbol` is memory that this file lays out.
    pub fn is_variable(&self, symbol: u32) -> bool {
        self.variables.contains(&symbol)
    }
}

/// Disassembles the function of a reader.
fn read(reader: &FunctionReader<'_>) -> Result<FunctionCode> {
    // An unknown machine is reported before a missing function.
    reader.decoder(false)?;
    let span = reader.span()?;
    let (architecture, decoder) = reader.decoder(span.thumb)?;
    let section = reader.file.section_by_index(span.section).map_err(|_| reader.cut_off())?;
    let data = section.data().map_err(|_| reader.cut_off())?;
    let base = section.address();
    let (relocations, targets) = reader.relocations(&section);
    let constants = reader.constant_ranges(&span);
    let mut walk = Disassembly {
        reader,
        decoder: decoder.as_ref(),
        data,
        base,
        span: &span,
        relocations: &relocations,
        targets: &targets,
        constants: &constants,
        instructions: BTreeMap::new(),
        calls: BTreeMap::new(),
    };
    walk.follow(span.start, true)?;
    walk.sweep();
    let (instructions, calls) = (walk.instructions, walk.calls);
    let instructions: Vec<Instruction> = instructions.into_values().collect();
    let mut literals = BTreeMap::new();
    for access in instructions.iter().flat_map(|instruction| &instruction.accesses) {
        if let AddressExpression::Literal(Some(address)) = access.address
            && let Some(value) = literal(data, base, address, access.bytes, &relocations)
        {
            literals.insert(address, value);
        }
    }
    let variables = (0_u32..)
        .zip(&targets)
        .filter(|(_, target)| {
            target.section.is_some_and(|section| {
                reader.file.section_by_index(section).is_ok_and(|section| is_memory(&section))
            })
        })
        .map(|(symbol, _)| symbol)
        .collect();
    Ok(FunctionCode {
        architecture,
        machine: decoder.machine(),
        instructions,
        entry: span.start,
        calls,
        literals,
        memory: reader.memory(),
        variables,
    })
}
