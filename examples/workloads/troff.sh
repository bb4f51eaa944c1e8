#!/bin/sh
# GNU troff typesets a manual page for PostScript output. Only the formatter is
# recorded, without the other programs that groff would start. -R leaves out the
# start-up file, whose hyphenation patterns take 150 million instructions to read,
# six times as many as typesetting the page.
set -eu
cd "$(dirname "$0")/../.."
work=${WORK:-build/examples}/troff
here=examples/workloads

mkdir -p "$work"
"$here/armhf-packages.sh" "$work/sysroot" groff-base
export QEMU_LD_PREFIX="$work/sysroot"

"${FLASHPAGER:-.venv/bin/flashpager}" record --no-reads -o "$work/troff.trace" -- \
    "$work/sysroot/usr/bin/troff" -R -Tps -man "$here/manual.7" >"$work/manual.ditroff"
