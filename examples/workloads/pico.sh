#!/bin/sh
# Two firmwares of a Raspberry Pi Pico run in rp2040js, linked to execute in place from 0x10000000:
# the card firmware, without an operating system, and a plotter under RTIC, to which the host sends
# G-code over USB.
set -eu
cd "$(dirname "$0")/../.."
work=${WORK:-build/examples}/pico
flashpager=${FLASHPAGER:-.venv/bin/flashpager}

mkdir -p "$work"
make -s -C examples/firmware MACHINE=rp2040 BUILD="$(cd "$work" && pwd)/card"
"$flashpager" record --no-reads --system rp2040js -o "$work/card-firmware.trace" \
    "$work/card/card-firmware.elf"

# Cargo reads its configuration, which has the target, from the current folder.
(cd examples/pico && cargo build --quiet --release --locked --target-dir "$OLDPWD/$work/target")
cp "$work/target/thumbv6m-none-eabi/release/plotter" "$work/plotter.elf"
python3 examples/pico/part.py > "$work/part.gcode"
"$flashpager" record --no-reads --system "rp2040js --usb $work/part.gcode" -o "$work/plotter.trace" \
    "$work/plotter.elf"
