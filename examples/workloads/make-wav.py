#!/usr/bin/env python3
"""Write a short stereo WAV file with a chord, a sweep and noise.

Integer arithmetic and a generator of its own make the file the same on every
machine, so that the MP3 file and the recorded trace are comparable.
"""

import struct
import sys
import wave

RATE = 44100
SECONDS = 2


def sine_table(bits: int = 12) -> list[int]:
    """Return one period of a sine: 2**bits values of ±32767, by Bhaskara's approximation."""
    half = 1 << (bits - 1)
    table = []
    for i in range(2 * half):
        x = i % half
        p = x * (half - x)
        y = 32767 * 16 * p // (5 * half * half - 4 * p)
        table.append(y if i < half else -y)
    return table


def main(path: str) -> None:
    """Write the file."""
    sine = sine_table()

    def voice(phase: int) -> int:
        return sine[(phase >> 20) & 0xFFF]

    chord = [0, 0, 0]
    steps = [hz * (1 << 32) // RATE for hz in (262, 330, 392)]
    sweep, seed = 0, 0x2545F491
    frames = bytearray()
    count = RATE * SECONDS
    for n in range(count):
        chord = [(p + s) & 0xFFFFFFFF for p, s in zip(chord, steps, strict=True)]
        sweep = (sweep + (100 + 8000 * n // count) * (1 << 32) // RATE) & 0xFFFFFFFF
        seed ^= (seed << 13) & 0xFFFFFFFF
        seed ^= seed >> 17
        seed ^= (seed << 5) & 0xFFFFFFFF
        noise = (seed & 0xFFFF) - 0x8000
        swell = n % (RATE // 2) * 16 // (RATE // 2)
        left = sum(voice(p) for p in chord) // 6 + noise * swell // 128
        right = voice(sweep) // 3 + noise // 32
        frames += struct.pack("<hh", left, right)
    with wave.open(path, "wb") as wav:
        wav.setnchannels(2)
        wav.setsampwidth(2)
        wav.setframerate(RATE)
        wav.writeframes(bytes(frames))


main(sys.argv[1])
