#!/bin/sh
# GNU troff typesets a manual page for PostScript output: the formatter proper,
# without the driver programs that groff would start around it. -R leaves out
# the start-up file: reading its hyphenation patterns takes 150 million
# instructions, six times as long as typesetting the page.
set -eu
cd "$(dirname "$0")/../.."
work=${WORK:-build/examples}/troff
here=examples/workloads

mkdir -p "$work"
"$here/armhf-packages.sh" "$work/sysroot" groff-base
export QEMU_LD_PREFIX="$work/sysroot"

"${FLASHPAGER:-.venv/bin/flashpager}" record --no-reads -o "$work/troff.trace" -- \
    "$work/sysroot/usr/bin/troff" -R -Tps -man "$here/manual.7" >"$work/manual.ditroff"
