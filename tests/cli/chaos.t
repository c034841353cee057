#!/bin/sh
# chaos.t: runs in which things break at random come to the same as one in which
# nothing does. CHAOS_FAULTS and CHAOS_SEED choose how many and which: here 12, others
# each day; `make test-long` has 1,000.
. tests/cli/lib.sh
. tests/cli/run/lib.sh
faults=${CHAOS_FAULTS:-12} seed=${CHAOS_SEED:-$(date +%j%H%M)}
out=$(python3 tests/cli/scale/chaos.py "$work" $faults $seed 2>&1)
status=$?
is $status 0 "$faults faults (seed $seed) change no table"
comment "" "$out"
finish
