#!/bin/sh
# A Cortex-M3 firmware: smart-card commands, a purse, cryptography, and three
# sensors whose samples are sent by radio. One scheduler runs all of them.
set -eu
cd "$(dirname "$0")/../.."
work=${WORK:-build/examples}/card-firmware

mkdir -p "$work"
make -s -C examples/firmware BUILD="$(cd "$work" && pwd)"
"${FLASHPAGER:-.venv/bin/flashpager}" record --no-reads \
    --system "qemu-system-arm -M lm3s6965evb -nographic -semihosting" \
    -o "$work/card-firmware.trace" "$work/card-firmware.elf"
