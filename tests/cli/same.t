#!/bin/sh
# same.t: what recorded runs leave behind, and what each --json record says, is
# what it was: tests/cli/same/ holds it, without what differs from run to run
# (times, error figures, versions). A change that is meant goes there with
#
#   SAME=write sh tests/cli/same.t
#
# and shows in the commit. SAME=quick leaves out the starter run.
. tests/cli/lib.sh
cd "$root" || exit 1
export PYTHONDONTWRITEBYTECODE=1
steady="python3 $root/tests/cli/same/steady.py"
kept=$root/tests/cli/same
starter=$root/tasks/starter
mkdir -p "$work/tasks/starter" "$work/kept"
cp $starter/0[145]_*.py $starter/22_*.py "$work/tasks/starter"

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

for method in monkeys refine evolve combined; do
    python3 tests/cli/run/answers.py cassette $method starter/01_swish=r starter/04_softmax=wr \
        starter/05_logsumexp=nr starter/22_mse_loss=sw >"$work/$method.jsonl"
    run run --dsl c-cpu --device cpu --tasks tasks/starter --attempts 2 --batch 2 --phases 1,1,0 \
        --method $method --force --no-timing --cassette $method.jsonl --out $method
    same $method.tables "a run of $method leaves the same tables" tables $method
    same $method.status "… and the same status" records status $method --json --tasks
done
same tasks.list "tasks list says the same" records tasks list tasks/starter --json
same tasks.check "tasks check, too" records tasks check tasks/starter/01_swish.py --device cpu --json
same check "check, too" records check --dsl triton "$root/tests/verify/c-cpu/01_swish.py" \
    "$root/packs/triton/seeds/01_matmul/solution.py" --json
same verify "verify, too" records verify --dsl c-cpu --device cpu --no-timing \
    --task tasks/starter/01_swish.py "$root/tests/verify/c-cpu/01_swish.py" \
    "$root/tests/verify/c-cpu/04_softmax.py" --json
same archive.list "archive list, too" records archive list monkeys --json
same pack.list "pack list, too" records pack list --no-probe --json
same pack.check "pack check, too" records pack check c-cpu --json

if [ "${SAME:-}" != quick ]; then
    run run --tasks starter --dsl quill --device cpu --attempts 4 --batch 8 --no-timing \
        --guide "$root/recordings/quill/guide.md" --no-card --pack-seeds 1 \
        --cassette "$root/recordings/quill/monkeys.jsonl" --replay-strict --model claude \
        --out starter
    is $status 0 "the starter run replays strictly"
    same starter.tables "… and leaves the same tables" tables starter
    same starter.status "… and the same status" records status starter --json --tasks
fi
finish
