#!/bin/sh
# usage: swl.sh long|short
#
# Three programs that stand in for Crafty, Eon and Bzip2 of SPEC CPU2000, whose
# traces the paper on search-while-load (SWL, LCTES 2007) replays: Toga II plays
# chess, POV-Ray traces rays, bzip2 compresses, each with its libraries. The long
# traces are of 80 to 116 million placed instructions; the short ones, of 14 to
# 41 million, are small enough to keep.
set -eu
cd "$(dirname "$0")/../.."
work=${WORK:-build/examples}/swl
here=examples/workloads

case ${1:-} in
long)
    traces=$work
    depth=7
    width=48 height=36
    half=90000
    ;;
short)
    traces=$work/short
    depth=4
    width=24 height=18
    half=20000
    ;;
*)
    echo "usage: $0 long|short" >&2
    exit 2
    ;;
esac

mkdir -p "$traces"
"$here/armhf-packages.sh" "$work/sysroot" toga2 povray bzip2
export QEMU_LD_PREFIX="$work/sysroot"

record() {
    name=$1
    shift
    "${FLASHPAGER:-.venv/bin/flashpager}" record --no-reads -o "$traces/$name.trace" "$@"
}

# Toga II hits an instruction cache about as often as Crafty did, Phalanx more
# often. It looks for input while it searches, so "quit" waits for its move.
rm -f "$work/said"
mkfifo "$work/said"
{
    printf '%s\n' uci 'setoption name OwnBook value false' 'setoption name Hash value 4' \
        'position startpos moves e2e4' "go depth $depth"
    sed -n '/^bestmove/q' "$work/said"
    echo quit
} | record chess --with-libraries -- "$work/sysroot/usr/games/toga2" >"$work/said"

# POV-Ray loads 54 libraries, nearly all for windows, sound and formats that it
# does not use. Linking them takes 22 million instructions, and their symbols a
# megabyte and a half of trace. So only libc and libm are placed, which is where
# it traces rays apart from its own code; the dynamic linker and the others run
# outside. It may read and write where it is told to, and POVINI keeps the
# user's settings out. Threads that wait for the one that traces wake up when
# they like, so a thousandth of the instructions differs from run to run. Its
# start is 17 million instructions, however small the image.
printf '%s\n' '[File I/O Security]' none >"$work/sysroot/etc/povray/3.7/povray.conf"
: >"$work/povray.ini"
export POVINI="$work/povray.ini"
libraries=$work/sysroot/lib/arm-linux-gnueabihf
record raytracer \
    --image "$work/sysroot/usr/bin/povray,$libraries/libc.so.6,$libraries/libm.so.6" -- \
    "$work/sysroot/usr/bin/povray" "+I$here/raytracer.pov" "+O$work/image.ppm" +FP \
    "+W$width" "+H$height" +WT1 -D -GA

# bzip2 as in bzip2.sh: half English text, half machine code.
documents=$work/sysroot/usr/share/doc
{
    cat "$documents/gcc-12-base/copyright" "$documents/libc6/copyright" | head -c "$half"
    tail -c +100001 "$work/sysroot/usr/bin/povray" | head -c "$half"
} >"$work/input"
record bzip2 --with-libraries -- \
    "$work/sysroot/bin/bzip2" --stdout "$work/input" >/dev/null
