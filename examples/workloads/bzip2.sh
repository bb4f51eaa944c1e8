#!/bin/sh
# bzip2 compresses 100 KB, half English text, half machine code.
# --with-libraries places libbz2, which does nearly all of the work.
set -eu
cd "$(dirname "$0")/../.."
work=${WORK:-build/examples}/bzip2
here=examples/workloads

mkdir -p "$work"
"$here/armhf-packages.sh" "$work/sysroot" bzip2
export QEMU_LD_PREFIX="$work/sysroot"

{
    head -c 50000 "$work/sysroot/usr/share/doc/gcc-12-base/copyright"
    head -c 50000 "$work/sysroot/lib/arm-linux-gnueabihf/libbz2.so.1.0"
} >"$work/input"
"${FLASHPAGER:-.venv/bin/flashpager}" record --no-reads --with-libraries -o "$work/bzip2.trace" -- \
    "$work/sysroot/bin/bzip2" --keep --force "$work/input"
