#!/bin/bash
# Measures the gain of a searched order on a program that the search was not tuned on, Lua 5.4 on
# x86-64, and compares the counts of the newly linked program with the predicted ones.
#
#   benches/lua/run.sh LUA-SOURCES FOLDER [SECONDS]
#
# LUA-SOURCES is the folder that holds lvm.c, from `apt-get source lua5.4` or lua.org. The order is
# searched on words.lua, and judged on another text for it and on solve.lua, another program.
# Design: 2 KB, LRU, K9F1208Q0B read by start-column on the smart card's bus.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
flashpager=${FLASHPAGER:-$here/../../.venv/bin/flashpager}
sources=$(cd "$1" && pwd)
mkdir -p "$2" && cd "$2"
seconds=${3:-60}
design=(--board smartcard --part K9F1208Q0B --register start-column --cache 2K)

# Without a fixed seed, Lua seeds its hash of strings by the time and by addresses.
for source in "$sources"/*.c; do
    [ "$(basename "$source")" = luac.c ] || gcc -Os -ffunction-sections -DLUA_USE_POSIX \
        '-Dluai_makeseed(L)=1' -c "$source"
done
gcc -Wl,--verbose -o unused *.o -lm | sed '1,/^=====/d; /^=====/,$d' >program.ld
sed -i 's/^ *\*(\.text\.unlikely /    INCLUDE order.ld\n&/' program.ld
# link NAME: links the program NAME in the order of order.ld.
link() { gcc -Wl,-T,program.ld -Wl,-Map="$1.map" -Wl,--gc-sections -o "$1" *.o -lm; }

: >order.ld
link before
"$flashpager" record -o words.trace -- ./before "$here/words.lua" 1 60
"$flashpager" record -o other-words.trace -- ./before "$here/words.lua" 7 40
"$flashpager" record -o solve.trace -- ./before "$here/solve.lua" 6
"$flashpager" layout words.trace --map before.map "${design[@]}" --seconds "$seconds" \
    --held-out other-words.trace --format gnu-ld -o order.ld | tee layout.txt

link laid-out
"$flashpager" layout check laid-out order.ld --map laid-out.map
"$flashpager" record -o new.trace -- ./laid-out "$here/words.lua" 1 60
page=$(sed -n 's/^ *\*\([0-9]*\) .*/\1/p' layout.txt)
for trace in words other-words solve; do
    "$flashpager" trace arrange $trace.trace --map before.map --order order.ld -o $trace-arranged.trace
done
for trace in words other-words solve words-arranged other-words-arranged solve-arranged new; do
    echo "== $trace"
    "$flashpager" simulate $trace.trace "${design[@]}" --cache-page "$page" --json |
        grep -E '"(references|misses|loads|nor_ratio)"'
done
