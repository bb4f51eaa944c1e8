#!/bin/sh
# usage: swl.sh long|short
#
# The paper on search-while-load (SWL, LCTES 2007) replays traces of Crafty, Eon and
# Bzip2 of SPEC CPU2000. Three programs stand in for them, each with its libraries:
# Toga II plays chess, POV-Ray traces rays, bzip2 compresses. The long traces have 80
# to 116 million placed instructions. The short ones have 14 to 41 million, and are
# small enough to keep.
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
# often. It reads its input even during a search, so "quit" is sent after its move.
rm -f "$work/answers"
mkfifo "$work/answers"
{
    printf '%s\n' uci 'setoption name OwnBook value false' 'setoption name Hash value 4' \
        'position startpos moves e2e4' "go depth $depth"
    sed -n '/^bestmove/q' "$work/answers"
    echo quit
} | record chess --with-libraries -- "$work/sysroot/usr/games/toga2" >"$work/answers"

# POV-Ray loads 54 libraries, nearly all for windows, sound and formats that it
# does not use. Linking them takes 22 million instructions, and their symbols take
# a megabyte and a half of trace. So only POV-Ray itself, libc and libm are placed,
# which trace the rays; the dynamic linker and the other libraries are not.
# povray.conf lets it read and write everywhere, and POVINI keeps the user's
# settings out. Other threads wake up at varying times, so a thousandth of the
# instructions differs from run to run. Its start takes 17 million instructions,
# however small the image.
printf '%s\n' '[File I/O Security]' none >"$work/sysroot/etc/povray/3.7/povray.conf"
: >"$work/povray.ini"
export POVINI="$work/povray.ini"
libraries=$work/sysroot/lib/arm-linux-gnueabihf
record raytracer \
    --image "$work/sysroot/usr/bin/povray,$libraries/libc.so.6,$libraries/libm.so.6" -- \
    "$work/sysroot/usr/bin/povray" "+I$here/raytracer.pov" "+O$work/image.ppm" +FP \
    "+W$width" "+H$height" +WT1 -D -GA

# bzip2 compresses the same kind of data as in bzip2.sh: half English text, half machine code.
documents=$work/sysroot/usr/share/doc
{
    cat "$documents/gcc-12-base/copyright" "$documents/libc6/copyright" | head -c "$half"
    tail -c +100001 "$work/sysroot/usr/bin/povray" | head -c "$half"
} >"$work/input"
record bzip2 --with-libraries -- \
    "$work/sysroot/bin/bzip2" --stdout "$work/input" >/dev/null
