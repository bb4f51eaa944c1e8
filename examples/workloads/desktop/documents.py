"""Write the documents that desktop.sh opens into a folder. They are the same in every run."""

import math
import random
import sys
from pathlib import Path

WORDS = """
    the page of a program leaves memory for flash when another needs its frame and the policy
    says that it will not be read again soon a fault then brings it back from a medium that is
    slow to write and wears out so that what is written must be small and rare
""".split()


def paragraph(chance: random.Random) -> str:
    """Return sentences of random words."""
    sentences = [" ".join(chance.choices(WORDS, k=chance.randint(5, 18))) for _ in range(6)]
    return " ".join(f"{sentence.capitalize()}." for sentence in sentences)


def picture(width: int, height: int) -> bytes:
    """Return a PPM file with waves of colour and some grain, like a photograph."""
    chance = random.Random(4)
    pixels = bytearray()
    for y in range(height):
        for x in range(width):
            light = 128 + 90 * math.sin(x / 37) * math.cos(y / 23) + chance.randint(-6, 6)
            level = max(0, min(255, int(light)))
            pixels += bytes((level, (level + y // 3) % 256, 255 - level))
    return f"P6 {width} {height} 255\n".encode() + pixels


def main() -> None:
    """Write all documents to the folder of the command line."""
    folder = Path(sys.argv[1])
    chance = random.Random(1)
    text = [paragraph(chance) for _ in range(400)]
    (folder / "text.txt").write_text("\n\n".join(text) + "\n")
    letter = "".join(f"<h2>Section {at}</h2><p>{part}</p>" for at, part in enumerate(text[:120]))
    (folder / "letter.html").write_text(f"<html><title>Letter</title><body>{letter}</body></html>")
    rows = [
        f"{at},{chance.choice(WORDS)},{chance.randint(1, 10**6)},{chance.random():.4f},=C{at}*D{at}"
        for at in range(2, 3000)
    ]
    (folder / "table.csv").write_text("number,name,amount,share,product\n" + "\n".join(rows) + "\n")
    (folder / "picture.ppm").write_bytes(picture(800, 600))


main()
