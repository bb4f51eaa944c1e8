#!/bin/sh
# Java at the scale of a smart card: three event-driven applications on a sensor,
# and Java Card applets with the card's API under jCardSim. Only code that would
# lie in flash is placed, not the simulated hardware or the terminal.
set -eu
cd "$(dirname "$0")/../.."
work=${WORK:-build/examples}/java
java=examples/java

mkdir -p "$work"
for project in sensors cards; do
    mvn --quiet --batch-mode -f "$java/$project/pom.xml" package
done

record() {
    name=$1 classes=$2
    shift 2
    "${FLASHPAGER:-.venv/bin/flashpager}" record --java --include "$classes" \
        -o "$work/$name.trace" -- java "$@"
}

record sensors 'sensors.*' -jar $java/sensors/target/sensors.jar
for applet in purse oath pki; do
    record $applet 'cards.*,javacard.*,javacardx.*' -jar $java/cards/target/cards.jar $applet
done
