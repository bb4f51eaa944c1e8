#!/bin/sh
# Phalanx, a chess engine, answers three opening moves at search depth 4.
# Book, learning, pondering and polling are off, so that the search depends on
# the moves only; about ten instructions of 30 million still differ from run to
# run. (GNU Chess is no alternative: its engine polls the input from a thread.)
set -eu
cd "$(dirname "$0")/../.."
work=${WORK:-build/examples}/phalanx
here=examples/workloads

mkdir -p "$work"
"$here/armhf-packages.sh" "$work/sysroot" phalanx
export QEMU_LD_PREFIX="$work/sysroot"

printf '%s\n' xboard nopost easy 'depth 4' e2e4 g1f3 f1b5 quit >"$work/moves"
"${FLASHPAGER:-.venv/bin/flashpager}" record --no-reads -o "$work/phalanx.trace" -- \
    "$work/sysroot/usr/games/phalanx" -b - -l - -p - -o - <"$work/moves"
