"""Samples of a Cortex-M's DWT in a stream of its ITM, as it leaves the pin SWO.

A hardware source packet with the discriminator 2 is a sample: 4 bytes are the program counter, the
single byte 0 is a processor that sleeps, and the single byte 255 is one that may not be observed.
Source: ARMv7-M and ARMv8-M Architecture Reference Manuals, appendix "ITM and DWT packet protocol".
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

from flashpager.record.samples.profile import SampleError, SampleFormat, SampleProfile

#: The end of a synchronization packet: at least 47 bits of 0, then a bit of 1.
_SYNC = bytes(5) + b"\x80"
#: The synchronization of a TPIU's frames, which hold packets of several sources.
_TPIU_SYNC = b"\xff\xff\xff\x7f"
_FRAME_BYTES = 16
_OVERFLOW = 0x70
_GLOBAL_TIMES = (0x94, 0xB4)
_PC, _SLEEP = 0x17, 0x15
_ASLEEP, _PROHIBITED = 0x00, 0xFF
#: Discriminators of data traces.
_DATA = range(8, 24)
#: Longest continuation of a packet, in bytes.
_LONGEST = 6
#: Share of bytes that may be no packet: a capture may begin within one, and a line has errors.
_DAMAGED = 0.01
#: Fewest samples by which a stream is recognised.
_FEWEST = 4


@dataclass
class _Packets:
    """The contents of a stream."""

    samples: Counter[int] = field(default_factory=Counter)
    asleep: int = 0
    prohibited: int = 0
    overflows: int = 0
    #: Bytes that are no packet, and the place of the first one.
    damaged: int = 0
    first_damage: int = 0
    #: Bytes of a packet that the end of the stream cuts off.
    cut: int = 0


def _recognises(start: bytes) -> bool:
    if start.startswith(_TPIU_SYNC):
        return True
    packets = _decoded(start)
    found = sum(packets.samples.values()) + packets.asleep
    is_clean = packets.damaged == 0 or (_SYNC in start and packets.damaged <= _LONGEST)
    return found >= _FEWEST and is_clean


def _read(content: bytes) -> SampleProfile:
    packets = _decoded(content)
    is_damaged = packets.damaged > max(_LONGEST, _DAMAGED * len(content))
    has_samples = bool(packets.samples or packets.asleep)
    is_undecoded = is_damaged or (packets.damaged > 0 and not has_samples)
    if (is_undecoded and _TPIU_SYNC in content[:4096]) or (
        packets.damaged and _has_frames(content)
    ):
        message = (
            "the stream is in frames of a TPIU, which mix several sources; capture it with the "
            "formatter off (TPIU_FFCR bit 1 = 0), or let your probe's software take the frames away"
        )
        raise SampleError(message)
    if is_damaged:
        message = (
            f"is no ITM stream: {packets.damaged:,} of {len(content):,} bytes are no packet, the "
            f"first at byte {packets.first_damage:,}"
        )
        raise SampleError(message)
    if not has_samples:
        message = (
            "the ITM stream has no samples of the program counter; switch them on "
            "(DWT_CTRL.PCSAMPLENA, with CYCTAP and POSTPRESET for the rate)"
        )
        raise SampleError(message)
    notes = []
    if packets.damaged:
        notes.append(f"bytes that are no packet, left out: {packets.damaged:,}")
    if packets.overflows:
        notes.append(
            f"overflows: {packets.overflows:,}; each lost packets, more where much is traced: "
            "sample more rarely, or raise the baud rate"
        )
    if packets.prohibited:
        notes.append(f"samples of code that may not be observed, left out: {packets.prohibited:,}")
    if packets.cut:
        notes.append("the last packet is cut off and left out")
    ranges = {(address, address + 1): count for address, count in packets.samples.items()}
    return SampleProfile(ranges, asleep=packets.asleep, notes=tuple(notes))


def _has_frames(content: bytes) -> bool:
    """Return True if a TPIU's synchronization recurs with whole frames between.

    The payload of a packet may have the same bytes: a local time at its largest value, or data.
    """
    places = [match.start() for match in re.finditer(re.escape(_TPIU_SYNC), content)]
    # The bytes of a frame, with or without those of the synchronization itself.
    steps = {(after - before) % _FRAME_BYTES for before, after in pairwise(places)}
    return bool(steps) and steps <= {0, len(_TPIU_SYNC)}


def _decoded(content: bytes) -> _Packets:
    """Decode packets; a byte that begins none is skipped, up to the next synchronization."""
    packets = _Packets()
    place, end = 0, len(content)
    # The place of the next synchronization is looked for once, not at each damaged byte.
    sync = content.find(_SYNC)
    while place < end:
        length = _packet_bytes(content, place)
        if length == 0:
            # Only a synchronization tells where packets begin again.
            if 0 <= sync <= place:
                sync = content.find(_SYNC, place + 1)
            stop = sync if sync > place else _behind_zeros(content, place)
            packets.first_damage = packets.first_damage if packets.damaged else place
            packets.damaged += stop - place
            place = stop
            continue
        if place + length > end:
            packets.cut = end - place
            break
        header = content[place]
        if header == _PC:
            packets.samples[int.from_bytes(content[place + 1 : place + 5], "little")] += 1
        elif header == _SLEEP:
            packets.asleep += content[place + 1] == _ASLEEP
            packets.prohibited += content[place + 1] == _PROHIBITED
        elif header == _OVERFLOW:
            packets.overflows += 1
        place += length
    return packets


def _behind_zeros(content: bytes, place: int) -> int:
    """Return the place behind a byte, or behind all bytes of 0 if it is one."""
    if content[place] != 0:
        return place + 1
    while place < len(content) and content[place] == 0:
        place += 1
    return place


def _packet_bytes(content: bytes, place: int) -> int:
    """Return the bytes of the packet at a place, 0 if none begins there."""
    header = content[place]
    size = header & 3
    if size:
        return _source_bytes(content, place)
    if header == 0:
        return _sync_bytes(content, place)
    if header == _OVERFLOW:
        return 1
    is_local_time = header & 0x0F == 0
    is_extension = header & 0x08 != 0
    if is_local_time and header & 0x80 == 0:
        return 1
    if header in _GLOBAL_TIMES or is_extension or (is_local_time and header & 0x40):
        # A header without a continuation bit is an extension of one byte.
        return _continued_bytes(content, place) if header & 0x80 else 1
    return 0


def _source_bytes(content: bytes, place: int) -> int:
    """Return the bytes of a packet from software or hardware, 0 if it is none."""
    header = content[place]
    payload = (0, 1, 2, 4)[header & 3]
    if header & 4 == 0:
        return 1 + payload
    discriminator = header >> 3
    is_sample = header == _PC or (
        header == _SLEEP
        and (place + 1 >= len(content) or content[place + 1] in (_ASLEEP, _PROHIBITED))
    )
    is_known = is_sample or (discriminator, payload) in ((0, 1), (1, 2)) or discriminator in _DATA
    return 1 + payload if is_known else 0


def _sync_bytes(content: bytes, place: int) -> int:
    """Return the bytes of a synchronization, 0 if there is none."""
    end = place
    while end < len(content) and content[end] == 0:
        end += 1
    if end == len(content):
        return end - place
    is_sync = end - place >= len(_SYNC) - 1 and content[end] == _SYNC[-1]
    return end + 1 - place if is_sync else 0


def _continued_bytes(content: bytes, place: int) -> int:
    """Return the bytes of a header and of those behind it, all but the last with a high bit."""
    for length in range(2, 2 + _LONGEST):
        if place + length > len(content) or content[place + length - 1] & 0x80 == 0:
            return length
    return 0


FORMAT = SampleFormat("itm", "DWT samples in an ITM stream (SWO)", _recognises, _read)
