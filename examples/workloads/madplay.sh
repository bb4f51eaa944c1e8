#!/bin/sh
# madplay decodes two seconds of MP3, in place of the CARDIS paper's MAD.
# --with-libraries places libmad, which has the decoder. madplay itself scales,
# dithers and writes the samples.
set -eu
cd "$(dirname "$0")/../.."
work=${WORK:-build/examples}/madplay
here=examples/workloads

mkdir -p "$work"
"$here/armhf-packages.sh" "$work/sysroot" madplay
export QEMU_LD_PREFIX="$work/sysroot"

python3 "$here/make-wav.py" "$work/input.wav"
lame --quiet -b 96 "$work/input.wav" "$work/input.mp3"
"${FLASHPAGER:-.venv/bin/flashpager}" record --no-reads --with-libraries -o "$work/madplay.trace" -- \
    "$work/sysroot/usr/bin/madplay" --very-quiet --output=raw:/dev/null "$work/input.mp3"
