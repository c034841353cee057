#!/bin/sh
# same.t: what recorded runs leave behind, and what each --json record says, is
# what it was (tests/cli/same/same.sh). compare.t has the starter run.
. tests/cli/lib.sh
cd "$root" || exit 1
. tests/cli/same/same.sh
. tests/cli/run/elsewhere.sh
starter=$root/tasks/starter
mkdir -p "$work/tasks/starter"
cp $starter/0[145]_*.py $starter/22_*.py "$work/tasks/starter"

# What each method leaves. A worker judges for the first; the others get the same verdicts as from
# another host.
for method in monkeys refine evolve combined; do
    python3 tests/cli/run/answers.py cassette $method starter/01_swish=r starter/04_softmax=wr \
        starter/05_logsumexp=nr starter/22_mse_loss=sw >"$work/$method.jsonl"
    set -- $method --dsl c-cpu --device cpu --tasks tasks/starter --attempts 2 --batch 2 \
        --phases 1,1,0 --method $method --force --no-timing --cassette $method.jsonl
    if [ $method = monkeys ]; then run run --out "$@"; else elsewhere "$@"; fi
    same $method.tables "a run of $method leaves the same tables" tables $method
    same $method.status "… and the same status" records status $method --json --tasks
done
same tasks.list "tasks list says the same" records tasks list tasks/starter --json
# Its answers and those of verify come from one worker: both are asked first, and have no records.
task_check() { "$1" tasks check tasks/starter/01_swish.py --device cpu --json --verifier jobs=mail; }
verify() {
    "$1" verify --dsl c-cpu --device cpu --no-timing --task tasks/starter/01_swish.py --verifier jobs=mail \
        "$root/tests/verify/c-cpu/01_swish.py" "$root/tests/verify/c-cpu/04_softmax.py" --json
}
task_check run
is $status 4 "without an answer tasks check waits for one"
verify run
is $status 4 "… and so does verify"
(cd "$work" && "$root/monkeys-worker" ${MONKEYS_PYTHON:+--python "$MONKEYS_PYTHON"} --jobs mail/jobs --out mail/answers 2>"$work/.err")
same tasks.check "tasks check, too" task_check records
same check "check, too" records check --dsl triton "$root/tests/verify/c-cpu/01_swish.py" \
    "$root/packs/triton/seeds/01_matmul/solution.py" --json
same verify "verify, too" verify records
same archive.list "archive list, too" records archive list monkeys --json
same pack.list "pack list, too" records pack list --no-probe --json
same pack.check "pack check, too" records pack check c-cpu --json
finish
