#!/bin/sh
# Captures pages of real desktop programs: a browser, an editor, a word processor, a
# spreadsheet and an image editor. Each has a document open, on a virtual display and with
# a new home folder. When a program is idle, its anonymous pages and those of its children
# are captured.
#
# usage: desktop.sh [PROGRAM...]
#
# PROGRAM is browser, editor, word-processor, spreadsheet or image-editor; all by default.
# LIMIT is the number of pages of each, 500 by default.
set -eu
cd "$(dirname "$0")/../.."
work=${WORK:-build/examples}/desktop
mkdir -p "$work"
work=$(cd "$work" && pwd)
here=$PWD/examples/workloads
flashpager=${FLASHPAGER:-.venv/bin/flashpager}
limit=${LIMIT:-500}
most_seconds=${SETTLE:-60}
[ $# -gt 0 ] || set -- browser editor word-processor spreadsheet image-editor

need() {
    command -v "$1" >/dev/null && return
    echo "desktop.sh: $1 is missing: apt install $2" >&2
    exit 2
}

home=$(mktemp -d)
pids=
finish() {
    for pid in $pids; do kill "$pid" 2>/dev/null || true; done
    for pid in $pids; do wait "$pid" 2>/dev/null || true; done
    rm -rf "$home"
}
trap finish EXIT
trap 'exit 130' INT TERM

need Xvfb xvfb
need dbus-daemon dbus-daemon
mkdir "$home/runtime"
chmod 700 "$home/runtime"
# The environment is replaced, because it lies on the stack and would get into the pages. This
# is a list of words, not a function, because a shell that calls a function would be captured.
clean="env -i PATH=/usr/bin:/bin HOME=$home USER=somebody LANG=C.UTF-8 GTK_A11Y=none
    NO_AT_BRIDGE=1 XDG_RUNTIME_DIR=$home/runtime
    DBUS_SESSION_BUS_ADDRESS=unix:path=$home/runtime/bus"
$clean Xvfb -displayfd 3 -screen 0 1280x960x24 -nolisten tcp 3>"$home/display" \
    >"$work/display.log" 2>&1 &
pids="$pids $!"
$clean dbus-daemon --session --nofork --address=unix:path="$home/runtime/bus" \
    >"$work/bus.log" 2>&1 &
pids="$pids $!"
for _ in 1 2 3 4 5 6 7 8 9 10; do
    [ -s "$home/display" ] && [ -e "$home/runtime/bus" ] && break
    sleep 1
done
clean="$clean DISPLAY=:$(cat "$home/display")"

# ticks PID: print the processor time of a process and its children, in clock ticks.
ticks() {
    for pid in $(family "$1"); do
        cut -d ' ' -f 14,15 "/proc/$pid/stat" 2>/dev/null || true
    done | awk '{ all += $1 + $2 } END { print all + 0 }'
}

# family PID: print a process and all its descendants.
family() {
    echo "$1"
    for child in $(cat "/proc/$1/task/"*/children 2>/dev/null); do family "$child"; done
}

# settle PID NAME: wait until a program has used less than 5 % of a processor for three seconds.
settle() {
    sleep 3
    calm=0 waited=0
    while [ $calm -lt 3 ] && [ $waited -lt "$most_seconds" ]; do
        kill -0 "$1" 2>/dev/null || { echo "desktop.sh: $2 ended; see $work/$2.log" >&2; exit 2; }
        before=$(ticks "$1")
        sleep 1
        if [ $(($(ticks "$1") - before)) -lt 5 ]; then calm=$((calm + 1)); else calm=0; fi
        waited=$((waited + 1))
    done
}

# capture NAME COMMAND...: start a program, wait until it is idle, capture its pages and end it.
capture() {
    name=$1
    shift
    (cd "$home" && exec $clean "$@") >"$work/$name.log" 2>&1 &
    program=$!
    pids="$pids $program"
    settle $program "$name"
    "$flashpager" swap capture --pid $program --all-children --limit "$limit" \
        -o "$work/$name.pages"
    kill $program 2>/dev/null || true
    wait $program 2>/dev/null || true
}

"${PYTHON:-python3}" "$here/desktop/documents.py" "$home"
cp "$here/desktop/page.html" "$home"
for name in "$@"; do
    case $name in
    browser)
        need chromium chromium
        # The sandbox needs rights that root and containers do not have.
        capture browser chromium --no-sandbox --no-first-run --disable-gpu \
            --disable-background-networking --disable-component-update --disable-sync \
            --user-data-dir="$home/browser" "file://$home/page.html"
        ;;
    editor)
        need mousepad mousepad
        capture editor mousepad --disable-server "$home/text.txt"
        ;;
    word-processor)
        need abiword abiword
        capture word-processor abiword "$home/letter.html"
        ;;
    spreadsheet)
        need gnumeric gnumeric
        capture spreadsheet gnumeric "$home/table.csv"
        ;;
    image-editor)
        need gimp gimp
        capture image-editor gimp --no-splash --new-instance "$home/picture.ppm"
        ;;
    *)
        echo "desktop.sh: no program '$name'" >&2
        exit 2
        ;;
    esac
done
