#!/bin/sh
# bzip2 decompresses 300 KB of English text and machine code.
# --with-libraries places libbz2, which does nearly all of the work.
set -eu
cd "$(dirname "$0")/../.."
work=${WORK:-build/examples}/bunzip2
here=examples/workloads

mkdir -p "$work"
"$here/armhf-packages.sh" "$work/sysroot" bzip2
export QEMU_LD_PREFIX="$work/sysroot"

cat "$work/sysroot/usr/share/doc/gcc-12-base/copyright" \
    "$work/sysroot/usr/share/doc/libc6/copyright" \
    "$work/sysroot/lib/arm-linux-gnueabihf/libbz2.so.1.0" \
    "$work/sysroot/bin/bzip2" >"$work/input"
qemu-arm "$work/sysroot/bin/bzip2" --keep --force "$work/input"
"${FLASHPAGER:-.venv/bin/flashpager}" record --no-reads --with-libraries -o "$work/bunzip2.trace" -- \
    "$work/sysroot/bin/bzip2" --decompress --keep --force "$work/input.bz2"
