# same.sh: compares what a run leaves and what a command prints with what
# tests/cli/same/ holds, without what differs from run to run (times, error
# figures, versions). Sourced after lib.sh. A change that is meant goes there with
#
#   SAME=write sh tests/cli/same.t    (or compare.t)
#
# and shows in the commit.

export PYTHONDONTWRITEBYTECODE=1
steady="python3 $root/tests/cli/same/steady.py"
kept=$root/tests/cli/same
mkdir -p "$work/kept"

# same NAME CLAIM COMMAND…: the command prints what tests/cli/same/NAME holds.
same() {
    name=$1 claim=$2
    shift 2
    "$@" >"$work/kept/$name"
    [ "${SAME:-}" != write ] || cp "$work/kept/$name" "$kept/$name"
    diff -u "$kept/$name" "$work/kept/$name" >"$work/.out" && [ -s "$work/kept/$name" ]
    status=$? out=$(cat "$work/.out")
    [ $status = 0 ]
    ok "$claim"
}
tables() { $steady tables "$work/$1"; }
records() { # COMMAND…: its records
    run "$@"
    printf '%s\n' "$out" | $steady records
}
