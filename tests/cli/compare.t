#!/bin/sh
# compare.t: monkeys compare: the three recorded methods on Quill side by side, and runs that do
# not compare. The one of the method monkeys, as `make run` has it, leaves what it did. The other
# two are replayed with 4 of the 24 tasks, which they solve at once, later or never, or with
# COMPARE=all, as `make test-long` does, with all.
. tests/cli/lib.sh
cd "$root" || exit 1
. tests/cli/same/same.sh
quill=$root/recordings/quill
starter=$root/tasks/starter
few=
for number in 01 16 19 22; do
    few="$few --tasks $(echo "$starter"/${number}_*.py)"
done
force=--force # 4 tasks of 24 are compared
[ "${COMPARE:-}" != all ] || few="--tasks starter" force=
recorded() { # METHOD TASKS OPTIONS…
    method=$1 tasks=$2
    shift 2
    run run $tasks --dsl quill --device cpu --method $method --attempts 4 --batch 8 \
        --no-timing --guide "$quill/guide.md" --no-card --pack-seeds 1 --model claude \
        --cassette "$quill/$method.jsonl" --out $method "$@"
    is $status 0 "the recorded run of $method ends"
}
recorded sampling "$few" --force
recorded refine "$few" --force
recorded monkeys "--tasks starter" --replay-strict
same starter.tables "the starter run, replayed strictly, leaves the same tables" tables monkeys
same starter.status "… and the same status" records status monkeys --json --tasks
for kind in full timed; do
    python3 tests/cli/analyze/made.py "$work/monkeys" $kind "$work/$kind"
done

if [ "${COMPARE:-}" = all ]; then
    curve="1,12,12,20
2,17,21,23
3,18,23,23
4,20,23,23"
    first=12,0,8,0.0078125
    sampling="24 *20 *15.4 *22.4"
else
    curve="1,2,2,4
2,3,4,4
3,3,4,4
4,3,4,4"
    first=2,0,2,0.5
    sampling="4 *3 *1.2 *3.8"
fi
run compare $force --csv --table curve sampling refine monkeys
is "$out" "attempts,sampling,refine,monkeys
$curve" "tasks solved within 1 to 4 attempts"
run compare $force --csv --table pairs sampling refine monkeys
like "$out" "one,other,attempts,both,only_one,only_other,p
*
sampling,monkeys,1,$first
*
refine,monkeys,1,$first
*" "the exact McNemar test on first attempts"
for command in compare analyze; do
    [ $command = compare ] || force=
    out=$(cd "$work" && python3 "$root/tests/cli/analyze/recompute.py" $command "$monkeys" \
        $force sampling refine monkeys)
    ok "every table of $command is what a script computes from the databases"
done
run compare --force sampling monkeys
like "$out" "runs: *
sampling *quill *claude *$sampling *
curve: *
pairs: *" "as text, all three tables"
run compare monkeys monkeys
like "$out" "*
monkeys  monkeys-2 *1.0000*" "a run is like itself, and gets two names"

# ---- runs that do not compare ----
run compare full timed
is $status 2 "runs with other tasks are refused"
like "$err" "*the runs differ*--force*
  tasks: 1 of full are not in timed, such as level2/c
  tasks: 3 of timed are not in full, such as level1/c
  attempts per task: 5 in full, 2 in timed
  seeds: 0 in full, 1 in timed*" "… with what differs"
run compare --force full timed
like "$err" "*the runs differ*" "--force warns of it"
like "$out" "*
full *quill *m *sampling *2 *1 *
timed *quill *tuned *monkeys *2 *2 *" "… and compares the tasks that both have"
run compare monkeys full
[ $status = 2 ] && like "$err" "*pack: *" "another version of the pack is a difference"
run compare --force monkeys full
[ $status = 2 ] && like "$err" "*no task in common*" "without a common task there is nothing to compare"
# A fact and the name of a folder may hold anything.
odd="$(printf 'odd\033[31m|<b>')"
cp -r "$work/timed" "$work/$odd"
python3 -c "import sqlite3, sys; c = sqlite3.connect(sys.argv[1] + '/run.db')
c.execute('update fact set value = ? where name = ?', ('\x1b[2J', 'precision')); c.commit()" "$work/$odd"
for option in "" --force "--force --md" "--force --csv --table curve"; do
    run compare $option timed "$odd"
    printf '%s' "$out$err" | LC_ALL=C grep -q "$(printf '\033')"
    [ $? = 1 ]
    ok "… and cannot control the terminal: compare $option"
done
run compare --force --md --table curve timed "$odd"
like "$out" '*| attempts | timed | `odd<1B>\[31m\\|<b>` |*' "… nor Markdown"
run compare monkeys
[ $status = 2 ] && like "$err" "*two or more*" "one run is too few"
run compare --table runz monkeys sampling
[ $status = 2 ] && like "$err" "*no table 'runz'*runs, curve, pairs*" "an unknown table: the known ones are named"
finish
