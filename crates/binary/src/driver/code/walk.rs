//! Disassembly along the paths of execution.

use std::collections::BTreeMap;

use flashpager_base::{Result, shown};
use object::{Architecture, Object};

use super::super::instruction::{AddressExpression, Decoder, Expression, Flow, Instruction};
use super::reader::{FunctionReader, FunctionSpan, LinkerRelocation, RelocationSymbol};

/// Disassembles a function along the paths of execution.
pub struct Disassembly<'a> {
    pub reader: &'a FunctionReader<'a>,
    pub decoder: &'a dyn Decoder,
    pub data: &'a [u8],
    pub base: u64,
    pub span: &'a FunctionSpan,
    pub relocations: &'a BTreeMap<u64, LinkerRelocation>,
    pub targets: &'a [RelocationSymbol],
    pub constants: &'a [(u64, u64)],
    pub instructions: BTreeMap<u64, Instruction>,
    pub calls: BTreeMap<u64, String>,
}

impl Disassembly<'_> {
    /// Follows execution from `start` on. With `must_be_code`, bytes that are no instruction are an
    /// error.
    pub fn follow(&mut self, start: u64, must_be_code: bool) -> Result<()> {
        let mut open = vec![start];
        while let Some(start) = open.pop() {
            let mut at = start;
            // The address of the last `it`, the distance to it in instructions, and the number of
            // instructions that it still governs.
            let mut governor: Option<(u64, usize, usize)> = None;
            while self.is_inside(at) && !self.instructions.contains_key(&at) {
                let (from, skip) = governor.map_or((at, 0), |(from, skip, _)| (from, skip));
                let decoded = self
                    .bytes_from(from)
                    .and_then(|bytes| self.decoder.decode(bytes, from, skip))
                    .filter(|made| made.address == at && made.end() <= self.span.end);
                let Some(mut made) = decoded else {
                    if must_be_code {
                        return Err(self.reader.wrong(format!(
                            "at 0x{at:x} in {} are bytes that are no instruction; compile for a \
                             plain processor of the family, or make the file again",
                            shown(self.reader.name)
                        )));
                    }
                    break;
                };
                governor = match governor {
                    _ if made.governs > 0 => Some((at, 1, made.governs)),
                    Some((from, skip, left)) if left > 1 => Some((from, skip + 1, left - 1)),
                    _ => None,
                };
                self.relocate(&mut made);
                let (flow, end) = (made.flow, made.end());
                self.instructions.insert(at, made);
                match flow {
                    Flow::Jump(Some(target)) => open.push(target),
                    Flow::Branch(target) => open.push(target),
                    _ => {}
                }
                if matches!(flow, Flow::Jump(_) | Flow::Return) {
                    break;
                }
                at = end;
            }
        }
        Ok(())
    }

    /// Takes all bytes that are left for code if a table of jumps hides paths.
    pub fn sweep(&mut self) {
        if !self.instructions.values().any(|made| made.flow == Flow::Jump(None)) {
            return;
        }
        let step = self.decoder.step();
        let mut at = self.span.start;
        while at < self.span.end {
            match self.instructions.range(..=at).next_back().map(|(_, made)| made.end()) {
                Some(end) if end > at => at = end,
                _ => {
                    // Bytes that need not be code cannot fail.
                    let _ = self.follow(at, false);
                    if !self.instructions.contains_key(&at) {
                        at = at.saturating_add(step);
                    }
                }
            }
        }
    }

    fn is_inside(&self, at: u64) -> bool {
        (self.span.start..self.span.end).contains(&at)
            && !self.constants.iter().any(|(start, end)| (*start..*end).contains(&at))
    }

    fn bytes_from(&self, at: u64) -> Option<&[u8]> {
        let from = usize::try_from(at.checked_sub(self.base)?).ok()?;
        let rest = self.data.get(from..)?;
        // No instruction is longer, together with those that govern it.
        Some(&rest[..rest.len().min(32)])
    }

    /// Applies the relocations of an instruction: the target of a branch, the name of a call, and
    /// numbers that are addresses of symbols.
    fn relocate(&mut self, made: &mut Instruction) {
        let at = made.address;
        let mut range = self.relocations.range(at..made.end());
        let relocation = range.next();
        match made.flow {
            Flow::Jump(target) | Flow::Call(target) => {
                let is_call = matches!(made.flow, Flow::Call(_));
                // RISC-V names the function at the instruction for the upper half of the address.
                let far = self
                    .relocations
                    .get(&at.wrapping_sub(4))
                    .filter(|relocation| relocation.is_riscv_call && target.is_none());
                let named = relocation.map(|(_, relocation)| relocation).or(far);
                let name = match (named, target) {
                    (Some(relocation), _) => {
                        let to = &self.targets[relocation.symbol as usize];
                        let address = self.branch_target(made, relocation).or(target);
                        let here = to.section == Some(self.span.section);
                        let local = here.then_some(address).flatten();
                        made.flow = match (is_call, local) {
                            (true, local) => Flow::Call(local),
                            (false, local) => Flow::Jump(local),
                        };
                        if to.name.is_empty() || to.name.starts_with('.') {
                            local.and_then(|to| self.reader.function_at(to, self.span.section))
                        } else {
                            Some(shown(&to.name))
                        }
                    }
                    (None, Some(target)) => self.reader.function_at(target, self.span.section),
                    (None, None) => None,
                };
                if is_call {
                    let unnamed = || match target {
                        Some(target) => format!("0x{target:x}"),
                        None => "(through a register)".to_owned(),
                    };
                    self.calls.insert(at, name.unwrap_or_else(unnamed));
                }
            }
            Flow::Branch(target) => {
                if let Some((_, relocation)) = relocation {
                    let to = self.branch_target(made, relocation).unwrap_or(target);
                    made.flow = Flow::Branch(to);
                }
            }
            Flow::Next | Flow::Return => {
                if let Some((field_address, relocation)) = relocation {
                    symbolic(made, *field_address, relocation);
                }
            }
        }
    }

    /// Returns the target of a branch by its relocation.
    fn branch_target(&self, made: &Instruction, relocation: &LinkerRelocation) -> Option<u64> {
        let to = &self.targets[relocation.symbol as usize];
        if to.section != Some(self.span.section) {
            return None;
        }
        let encoded = match made.flow {
            Flow::Jump(target) | Flow::Call(target) => target,
            Flow::Branch(target) => Some(target),
            _ => None,
        };
        let thumb_bit = u64::from(self.span.thumb);
        let start = to.address & !thumb_bit;
        match relocation.addend {
            Some(addend) => {
                use Architecture::{I386, X86_64};
                // On x86 the distance is counted from the end of the instruction, and is in its last four
                // bytes.
                let from_end = matches!(self.reader.file.architecture(), X86_64 | I386);
                let bias = if from_end { 4 } else { 0 };
                Some(start.wrapping_add_signed(addend).wrapping_add(bias))
            }
            None => encoded.map(|encoded| start.wrapping_add(encoded.wrapping_sub(made.address))),
        }
    }
}

/// Replaces the numbers of an instruction that the linker will set by symbols.
fn symbolic(made: &mut Instruction, field_address: u64, relocation: &LinkerRelocation) {
    let behind = made.end().wrapping_sub(field_address) as i64;
    let end = made.end() as i64;
    let is_x86 = made.text.contains(" ptr ");
    let mut is_address = false;
    for access in &mut made.accesses {
        // On x86, a constant that is stored is at the end of the instruction.
        let is_stored = is_x86
            && behind == 4
            && access.bytes >= 4
            && matches!(access.value, Expression::Constant(_));
        let AddressExpression::Memory(terms, displacement) = &mut access.address else { continue };
        // Except on x86 and AVR, a base register already holds the symbol.
        if is_stored || !(terms.is_empty() || is_x86) {
            continue;
        }
        access.symbol = Some(relocation.symbol);
        is_address = true;
        let is_relative = terms.is_empty() && *displacement == end;
        if let Some(addend) = relocation.addend {
            *displacement = if is_relative { addend.wrapping_add(behind) } else { addend };
        }
    }
    let symbol =
        |encoded: i64| Expression::Symbol(relocation.symbol, relocation.addend.unwrap_or(encoded));
    if is_address {
        return;
    }
    for access in &mut made.accesses {
        if let Expression::Constant(value) = access.value {
            access.value = symbol(value as i64);
        }
    }
    for (register, value) in &mut made.outputs {
        *value = match *value {
            Expression::Constant(value) => symbol(value as i64),
            // The upper half of an address whose lower half is in the register.
            Expression::Bits(from, ..) if from == *register => Expression::Sum(from, 0),
            other => other,
        };
    }
}

/// Returns the word of `bytes` at `address`.
pub fn literal(
    data: &[u8],
    base: u64,
    address: u64,
    bytes: u32,
    relocations: &BTreeMap<u64, LinkerRelocation>,
) -> Option<Expression> {
    if !matches!(bytes, 4 | 8) {
        return None;
    }
    let at = usize::try_from(address.checked_sub(base)?).ok()?;
    let word = data.get(at..at.checked_add(bytes as usize)?)?;
    let value = word.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
    Some(match relocations.get(&address) {
        Some(relocation) => {
            Expression::Symbol(relocation.symbol, relocation.addend.unwrap_or(value as i64))
        }
        None => Expression::Constant(value),
    })
}
