#!/bin/sh
# Two firmwares of a Raspberry Pi Pico, linked to execute in place from 0x10000000, in rp2040js:
# the card's, without an operating system, and a plotter's under RTIC, whose host sends G-code
# over USB.
set -eu
cd "$(dirname "$0")/../.."
work=${WORK:-build/examples}/pico
flashpager=${FLASHPAGER:-.venv/bin/flashpager}

mkdir -p "$work"
make -s -C examples/firmware MACHINE=rp2040 BUILD="$(cd "$work" && pwd)/card"
"$flashpager" record --no-reads --system rp2040js -o "$work/card-firmware.trace" \
    "$work/card/card-firmware.elf"

# Where Cargo's configuration is read from, which names the target.
(cd examples/pico && cargo build --quiet --release --locked --target-dir "$OLDPWD/$work/target")
cp "$work/target/thumbv6m-none-eabi/release/plotter" "$work/plotter.elf"
python3 examples/pico/part.py > "$work/part.gcode"
"$flashpager" record --no-reads --system "rp2040js --usb $work/part.gcode" -o "$work/plotter.trace" \
    "$work/plotter.elf"
