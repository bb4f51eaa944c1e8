"""The program and the flash image of an overlay, from the second link."""

import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NoReturn

from flashpager._engine import FlashpagerError
from flashpager.deploy.overlay_code import encoded_branch, moved_immediate, with_immediate
from flashpager.deploy.overlay_elf import LinkedProgram, Section
from flashpager.deploy.overlay_plan import (
    PAGED_SECTION,
    POLICIES,
    Slots,
    called_early,
    kept_words,
    must_stay,
    slots_of,
    too_large,
    usable,
)
from flashpager.deploy.overlay_program import (
    VENEERS,
    Function,
    OverlayProgram,
    Reference,
    ReferenceKind,
    obstacles,
)

#: Kinds of slots, in place of a function's bytes, and a function without calls: as in overlay.c.
_DIRECT, _GATE, _NO_SITE = 0, 1, 0xFFFF
#: The instruction of a veneer from resident code to a slot: ``ldr.w pc, [pc]``.
_LOAD_PC = bytes.fromhex("dff800f0")
#: Bytes of a slot, of a veneer, and of an entry of the directory.
_SLOT = 8
#: The bit of a call in the image that stands for ``bl``.
_LINK = 0x8000
#: Distance that the engine encodes in the calls of paged functions.
_NEAR = 1 << 22


@dataclass(frozen=True)
class OverlayImage:
    """The result: the program for the device, and what its flash chip holds."""

    program: bytes
    flash: bytes
    #: Names of functions by the numbers that the engine has for them.
    names: Mapping[int, str]
    paged: list[Function]
    slots: Slots
    policy: str
    heap_bytes: int


class _Linking:
    """The second link, whose references are moved to slots."""

    def __init__(self, program: LinkedProgram, closed: Collection[str]) -> None:
        self.program = program
        self.whole = OverlayProgram(program)
        usable(self.whole, closed)
        section = next((s for s in program.sections if s.name == PAGED_SECTION), None)
        if section is None:
            message = (
                f"{program.path}: has no {PAGED_SECTION}; link it with -Wl,-T,out/overlay.ld, "
                "beside your own script"
            )
            raise FlashpagerError(message)
        self.section: Section = section
        self.paged = [each for each in self.whole.functions if each.section is section]
        self.is_paged = set(self.paged)
        self._check()
        self.slots = slots_of(self.whole, self.paged)
        self.slots_at, slots_bytes = self.table("fp_overlay_slots")
        self.veneers_at, self._veneers_bytes = self.table("fp_overlay_veneers")
        self.design_slots = slots_bytes // _SLOT
        if self.slots.count > self.design_slots:
            self._refuse_design("slots", self.slots.count, self.design_slots)
        heap_at, heap_bytes = self.table("fp_overlay_heap")
        ends = (heap_at, heap_at + heap_bytes, self.slots_at, self.slots_at + slots_bytes)
        if max(ends) - min(ends) > _NEAR:
            message = (
                f"{program.path}: fp_overlay_heap and fp_overlay_slots are more than 4 MB apart; "
                "place them in one memory"
            )
            raise FlashpagerError(message)
        self._veneers: dict[Function, int] = {}

    def table(self, name: str) -> tuple[int, int]:
        """Return address and bytes of a table of the engine.

        Raises:
            FlashpagerError: if the program has no such table.

        """
        symbol = self.program.symbol(name)
        if symbol is None:
            message = (
                f"{self.program.path}: has no {name}; compile overlay.c and overlay_cortex_m.S of "
                "runtime/pager/overlay into the program, and call fp_overlay_start()"
            )
            raise FlashpagerError(message)
        return symbol.value & ~1, symbol.size

    def _refuse_design(self, what: str, needed: int, there: int) -> NoReturn:
        message = (
            f"{self.program.path}: needs {needed:,} {what}, and the design has {there:,}; run "
            "'flashpager overlay' again on the first link of this version"
        )
        raise FlashpagerError(message)

    def _check(self) -> None:
        """Refuse paged functions that cannot be paged.

        Raises:
            FlashpagerError: if there is one.

        """
        for symbol in self.program.symbols:
            is_inside = self.section.address <= symbol.value < self.section.end
            is_other = symbol.is_section or symbol.name.startswith("$") or not symbol.name
            is_veneer = VENEERS.fullmatch(symbol.name)
            if is_inside and not (is_other or is_veneer or self.whole.at(symbol.value & ~1)):
                message = (
                    f"{self.program.path}: {symbol.name} is paged, and no symbol of a function; "
                    "give it a .type, or put it into another section than .text.NAME"
                )
                raise FlashpagerError(message)
        if not self.paged:
            message = f"{self.program.path}: {PAGED_SECTION} has no functions; plan it anew"
            raise FlashpagerError(message)
        stays = must_stay(self.whole)
        for function in self.paged:
            if function in stays:
                message = (
                    f"{self.program.path}: {function.name} is paged, and {stays[function]}; give "
                    f"--resident {function.name} to the first 'flashpager overlay'"
                )
                raise FlashpagerError(message)
            for obstacle in obstacles(self.whole, function):
                message = f"{self.program.path}: {obstacle}"
                raise FlashpagerError(message)
        heap_bytes = self.table("fp_overlay_heap")[1]
        if large := too_large(self.paged, heap_bytes):
            self._refuse_design(f"bytes of heap, for {large.name},", large.bytes, heap_bytes)
        early = called_early(self.whole, self.is_paged)
        if early is not None:
            function, by = early
            message = (
                f"{self.program.path}: {function.name} is paged and runs before "
                f"fp_overlay_start(): call that earlier in {by.name}, or give --resident "
                f"{function.name} to the first 'flashpager overlay'"
            )
            raise FlashpagerError(message)

    def policy(self) -> str:
        """Return the policy that the engine was compiled with.

        Raises:
            FlashpagerError: if it is none that this version knows.

        """
        number = self.program.word(self.table("fp_overlay_policy")[0])
        if not 1 <= number <= len(POLICIES):
            message = f"{self.program.path}: the engine is of another version; compile it again"
            raise FlashpagerError(message)
        return POLICIES[number - 1]

    def slot_address(self, target: int) -> int:
        """Return the address of the slot for an address of a function."""
        return self.slots_at + _SLOT * self.slots.numbers[target]

    def name_at(self, address: int) -> str:
        """Return the name of the function at an address."""
        function = self.whole.at(address)
        return function.name if function else f"{address:#x}"

    def redirect(self) -> None:
        """Let all references but the calls in paged functions go to slots."""
        kept, entry = kept_words(self.whole), self.whole.entry()
        for reference in self.whole.references:
            to = reference.to
            is_call = reference.kind in (ReferenceKind.CALL, ReferenceKind.JUMP)
            if is_call and (to not in self.is_paged or reference.by in self.is_paged):
                continue
            is_gate = reference.is_named and reference.target in self.slots.gates
            if reference.address in kept or not (to in self.is_paged or is_gate):
                continue
            if to is entry or (is_gate and reference.kind.is_fixed):
                # These lead from resident code to resident code, which needs no slot.
                continue
            self._redirect_one(reference)

    def _redirect_one(self, reference: Reference) -> None:
        program, at = self.program, reference.address
        to = self.slot_address(reference.target)
        if reference.kind is ReferenceKind.WORD:
            program.write(at, (to | 1).to_bytes(4, "little"))
        elif reference.kind in (ReferenceKind.LOW, ReferenceKind.HIGH):
            shift = 0 if reference.kind is ReferenceKind.LOW else 16
            code = program.bytes_at(at, 4)
            if moved_immediate(code) != (reference.target | 1) >> shift & 0xFFFF:
                message = (
                    f"{program.path}: the address at {at:#x} is not that of {reference.to.name}, "
                    f"but of something inside it; keep it resident: --resident {reference.to.name}"
                )
                raise FlashpagerError(message)
            program.write(at, with_immediate(code, (to | 1) >> shift & 0xFFFF))
        elif reference.kind in (ReferenceKind.CALL, ReferenceKind.JUMP):
            is_call = reference.kind is ReferenceKind.CALL
            code_direct = encoded_branch(at, to, is_call=is_call)
            code_by_veneer = (
                encoded_branch(at, self._veneer(reference.to), is_call=is_call)
                if not code_direct
                else None
            )
            code_ = code_direct or code_by_veneer
            if code_ is None:
                message = (
                    f"{program.path}: fp_overlay_veneers is too far from {at:#x}; place it nearer"
                )
                raise FlashpagerError(message)
            program.write(at, code_)
        else:
            message = (
                f"{program.path}: {self.name_at(at)} refers to {reference.to.name} in a way that "
                f"cannot be redirected, at {at:#x}; give --resident {reference.to.name} to the "
                "first 'flashpager overlay'"
            )
            raise FlashpagerError(message)

    def _veneer(self, function: Function) -> int:
        """Return the address of the veneer from resident code to a function's slot."""
        if function not in self._veneers:
            at = self.veneers_at + _SLOT * len(self._veneers)
            if at + _SLOT > self.veneers_at + self._veneers_bytes:
                veneers = len(self._veneers) + 1
                self._refuse_design("veneers to slots", veneers, self._veneers_bytes // _SLOT)
            address = self.slot_address(function.start) | 1
            self.program.write(at, _LOAD_PC + address.to_bytes(4, "little"))
            self._veneers[function] = at
        return self._veneers[function]

    def body(self, function: Function) -> tuple[bytes, int]:
        """Return the bytes of a function in the image, and the halfword of its first call."""
        sites = sorted(
            (
                each
                for each in self.whole.calls.get(function, ())
                if each.kind in (ReferenceKind.CALL, ReferenceKind.JUMP)
                and not (each.to is function and each.kind is ReferenceKind.JUMP)
            ),
            key=lambda each: each.address,
        )
        body = bytearray(self.program.bytes_at(function.start, function.end - function.start))
        body += bytes(function.bytes - len(body))
        for i, site in enumerate(sites):
            at = site.address - function.start
            following = sites[i + 1].address if i + 1 < len(sites) else site.address
            distance = (following - site.address) // 2
            link = _LINK if site.kind is ReferenceKind.CALL else 0
            number = self.slots.numbers[site.target]
            body[at : at + 4] = number.to_bytes(2, "little") + (distance | link).to_bytes(
                2, "little"
            )
        return bytes(body), (sites[0].address - function.start) // 2 if sites else _NO_SITE


def finished(program: LinkedProgram, closed: Collection[str] = ()) -> OverlayImage:
    """Return the program for the device, and the flash image, of a second link.

    Raises:
        FlashpagerError: if the program lacks the engine, or something in it cannot be paged.

    """
    linking = _Linking(program, closed)
    linking.redirect()
    directory = bytearray(_SLOT * linking.design_slots)
    bodies = b""
    for address, number in linking.slots.numbers.items():
        at, kind, site = address | 1, _DIRECT, _NO_SITE
        function = linking.whole.at(address)
        if address in linking.slots.gates:
            kind = _GATE
        elif function in linking.is_paged:
            body, site = linking.body(function)
            at, kind = len(bodies), len(body)
            bodies += body
        entry = at.to_bytes(4, "little") + kind.to_bytes(2, "little") + site.to_bytes(2, "little")
        directory[_SLOT * number : _SLOT * (number + 1)] = entry
    program.write(linking.table("fp_overlay_directory")[0], bytes(directory))
    identity = zlib.crc32(bodies, zlib.crc32(directory)).to_bytes(4, "little")
    flash = bodies + identity
    program.write(linking.table("fp_overlay_image")[0], len(flash).to_bytes(4, "little") + identity)
    program.leave_out(linking.section)
    return OverlayImage(
        bytes(program.data),
        flash,
        {number: linking.name_at(address) for address, number in linking.slots.numbers.items()},
        linking.paged,
        linking.slots,
        linking.policy(),
        linking.table("fp_overlay_heap")[1],
    )
