#!/bin/sh
# reverify.t: monkeys archive reverify: kernels are verified again; broken ones
# are retired, and restored when they pass. Where only the books are looked at, answers are given
# as from a verifier on another host.
. tests/cli/lib.sh
today=$(date -u +%F)
answers="python3 -B $root/tests/cli/run/answers.py"
sql() { python3 -c 'import sqlite3, sys; db = sqlite3.connect(sys.argv[1], isolation_level=None); print(*db.execute(sys.argv[2]).fetchone() or [])' "$work/$1/run.db" "$2"; }
passes() { for task in $2; do $answers judge "$work/$1" $task answer "$correct"; done; }
correct='{"verdict":"correct","stage":"done","evidence":"E3","compiled":true,"kernelbench_pass":true,"feedback":"","trials":[]}'
chmod 755 "$work" # candidates are another user

# ---- an archive ----

mkdir "$work/two"
cp -R "$root/packs/c-cpu/seeds/01_matmul" "$root/packs/c-cpu/seeds/02_softmax" "$work/two"
again() { run archive reverify two --dsl c-cpu --device cpu "$@"; }

run archive reverify "$root/packs/c-cpu/seeds"
like "$status $err" "2 *these are the seeds of a pack; use 'monkeys pack check --verify --write ID'*" "the seeds of a pack are refused"
run archive reverify two
like "$status $err" "2 *two does not say which pack its kernels belong to; give --dsl ID*" "the pack must be known"
sed -i 's/expf(/expg(/' "$work/two/02_softmax/solution.py"
again
is $status 1 "a kernel that is broken now exits 1"
like "$out" "02_softmax: retired ($today): compile_error: *expg*1 of 2 kernels are correct; 1 retired and 0 restored now" \
    "… and is retired, with the first line of the error"
run archive list two
like "$out" "01_matmul * verified *02_softmax * retired *    since $today: compile_error: *expg*" "a kernel that passes stays; list shows the other, with date and reason"
run archive list two --json
like "$out" "*\"name\":\"02_softmax\",*\"retired_on\":\"$today\",\"retired_why\":\"compile_error: *" "… in JSON, too"
run archive show two 02_softmax
like "$out" "*# retired on $today: compile_error: *expg*" "show prints the reason and the code"
run archive import two -o copy
is "$out" "1 kernel written to copy, 0 there already, 1 retired and left out" "a copy leaves it out"

# begin OUT ARCHIVE: a run that starts with an archive; what its archive has.
$answers cassette monkeys starter/01_swish=r >"$work/one.jsonl"
begin() {
    run run --dsl c-cpu --device cpu --force --attempts 1 --cassette one.jsonl --verifier jobs=none --pack-seeds 0 \
        --archive "$2" --out "$1" --tasks "$root/tasks/starter/01_swish.py"
}
names() { sql "$1" "SELECT group_concat(name) FROM entry WHERE origin = 'archive'"; }
begin without two
is "$(names without)" 01_matmul "a run with the archive does not see it"
is "$($answers search 'expg(' "$work/without/run.db")" "" "… and no prompt shows it"

cp "$root/packs/c-cpu/seeds/02_softmax/solution.py" "$work/two/02_softmax"
again --verifier jobs=back
passes back "01_matmul/task 02_softmax/task"
again --verifier jobs=back
like "$status $out" "0 02_softmax: restored*2 of 2 kernels are correct; 0 retired and 1 restored now" "a kernel that passes again is restored"
cmp -s "$work/two/02_softmax/solution.py" "$root/packs/c-cpu/seeds/02_softmax/solution.py" && ! grep -q retired "$work/two/02_softmax/meta.json"
ok "… and nothing of the mark is left"
begin with two
is "$(names with)" 01_matmul,02_softmax "a run sees it again"

# A verifier that fails says nothing about a kernel. (How one fails: pack.t.)
again --verifier jobs=sick
for task in 01_matmul/task 02_softmax/task; do $answers judge "$work/sick" $task infra "no widget"; done
again --verifier jobs=sick
like "$status $out" "4 *02_softmax: no verdict: *no widget*0 of 2 kernels are correct; 0 retired *2 without a verdict: run the command again" \
    "a verifier that fails retires nothing"

# Another host: the pass waits, and goes on with the answers.
again --verifier jobs=far
is "$status $(printf '%s\n' "$err" | grep -c '2 jobs wait for answers')" "4 1" "jobs for another host are written"
$answers judge "$work/far" 01_matmul/task answer '{"verdict":"wrong_values","stage":"trials","evidence":null,"feedback":"far off\nby 2","trials":[]}'
again --verifier jobs=far
like "$status $out" "4 01_matmul: retired ($today): wrong_values: far off*2 kernels*1 without a verdict*" "an answer is taken in"
passes far 02_softmax/task
again --verifier jobs=far
like "$status $out" "1 01_matmul: retired *1 of 2 kernels are correct; 0 retired *; 1 had been verified before in this pass" \
    "… once: the next call does only what is missing"
again --verifier jobs=far
is $status 4 "the next pass asks anew"

# A retired kernel does not keep another one for its task out.
run archive import "$root/packs/c-cpu/seeds" -o two
is "$out" "2 kernels written to two, 1 there already" "a kernel for the task of a retired one can be added"
[ -e "$work/two/01_matmul/solution.py" ] && [ -e "$work/two/task_01_matmul/solution.py" ]
ok "… and both are kept"

# ---- a run ----

tape() { $answers cassette monkeys starter/01_swish=r starter/04_softmax=r "starter/05_logsumexp=$1" >"$work/tape.jsonl"; }
wrong='{"verdict":"wrong_values","stage":"trials","evidence":null,"compiled":true,"kernelbench_pass":false,"feedback":"no","trials":[]}'
shown() { sql ran "SELECT group_concat(name) FROM (SELECT name FROM shown JOIN entry USING (entry) WHERE shown.task = (SELECT ord FROM task WHERE id = 'starter/05_logsumexp') AND shown.attempt = $1 ORDER BY name)"; }
# A round: the model answers as far as the tape goes, and a judge says no.
round() {
    tape "$1"
    run resume ran
    $answers judge "$work/ran-far" starter/05_logsumexp answer "$wrong"
    run resume ran
}
tape w
run run --dsl c-cpu --device cpu --force --attempts 4 --pack-seeds 0 --command "$answers command tape.jsonl" --price 0,0 --budget-usd 1 --verifier jobs=ran-far \
    --out ran --tasks "$root/tasks/starter/01_swish.py" --tasks "$root/tasks/starter/04_softmax.py" --tasks "$root/tasks/starter/05_logsumexp.py"
passes ran-far "starter/01_swish starter/04_softmax"
$answers judge "$work/ran-far" starter/05_logsumexp answer "$wrong"
run resume ran
round ww
is "$(shown 2)" starter/01_swish,starter/04_softmax "two kernels are examples for the next task"

# What the new language does not take any more.
mkdir "$work/new"
cp -R "$root/packs/c-cpu" "$work/new"
python3 - "$work/new/c-cpu/checks.json" <<'PY'
import json, sys
told = json.load(open(sys.argv[1]))
told["sets"]["default"]["rules"].append({"id": "c-old", "kind": "forbid", "view": "all", "pcre": "swish_kernel", "message": "swish is gone"})
json.dump(told, open(sys.argv[1], "w"))
PY
run archive reverify ran --device cpu --packs new --verifier jobs=new-far
like "$out" "*starter/01_swish: retired ($today): static_reject: *swish is gone *0 of 2 kernels are correct; 1 retired *1 without a verdict*" \
    "a kernel of a run that is broken now is retired"
passes new-far starter/04_softmax
run archive reverify ran --device cpu --packs new --verifier jobs=new-far
like "$status $out" "1 *1 of 2 kernels are correct; 0 retired *" "… and the command exits 1"
run archive list ran
like "$out" "*starter_01_swish * retired *    since $today: static_reject: *swish is gone *" "list shows it, with date and reason"
run archive export ran -o exported
like "$out" "1 kernel written to exported, 0 there already, 1 retired and left out" "export leaves it out"
round www
is "$(shown 3)" starter/04_softmax "the next prompt does not show it"

# A run that another process writes.
exec 8>>"$work/ran/lock"
flock 8
run archive reverify ran --device cpu
like "$status $err" "2 *ran: in use by *" "a run that is running is refused"
exec 8>&-

# Killed in the middle: what is verified is not verified again.
run archive reverify ran --device cpu --verifier jobs=pass
passes pass "starter/01_swish starter/04_softmax"
(cd "$work" && env -i PATH="$PATH" HOME="$work" MONKEYS_FAULT_STORE=3 ${MONKEYS_PYTHON:+MONKEYS_PYTHON="$MONKEYS_PYTHON"} \
    "$monkeys" archive reverify ran --device cpu --verifier jobs=pass) >"$work/.out" 2>"$work/.err"
is "$? $(sql ran "SELECT count(*) FROM recheck WHERE pass = 2")" "9 1" "a pass that is killed keeps what it has found"
run archive reverify ran --device cpu --verifier jobs=pass
like "$status $out" "0 *2 of 2 kernels are correct; 0 retired *; 1 had been verified before in this pass" "the next call continues it"
is "$(sql ran "SELECT count(*) FROM recheck WHERE pass = 2")" 2 "… in the same pass"
run archive list ran
is "$(printf '%s\n' "$out" | grep -c ' verified ')" 2 "what passes again is restored"
round wwww
is "$(shown 4)" starter/01_swish,starter/04_softmax "… and is an example again"

# ---- older rules of truth ----

# Kernels and runs whose records do not say by which rules they were judged.
mkdir "$work/old"
cp -R "$root/packs/c-cpu/seeds/01_matmul" "$work/old"
python3 - "$work/old/01_matmul/meta.json" <<'PY'
import json, sys
told = json.load(open(sys.argv[1]))
told.pop("rules", None)
json.dump(told | {"dsl": "c-cpu"}, open(sys.argv[1], "w"))
PY
run archive list old
like "$out" "01_matmul * older *" "a kernel that older rules of truth judged is shown as such"
run archive show old 01_matmul
like "$out" "*# verified by version 1 of the rules of truth: 'monkeys archive reverify' judges it by version 2*" "… with the remedy"
run archive import old -o current
is "$out" "0 kernels written to current, 0 there already, 1 judged by older rules of truth and left out: 'monkeys archive reverify' judges it again" \
    "… enters no archive"
begin never old
like "$status $err" "2 *old: 1 kernel judged by older rules of truth is left out; 'monkeys archive reverify old' judges it again*no kernel is left*" \
    "… and no run"
run archive reverify old --device cpu --verifier jobs=old-far
$answers judge "$work/old-far" 01_matmul/task answer '{"verdict":"correct","evidence":"E3","rules":1}'
run archive reverify old --device cpu --verifier jobs=old-far
like "$status $out" "4 *the worker judged by version 1 of the rules of truth, this program has version 2*" \
    "a worker that judges by older rules gives no verdict"
run archive reverify old --device cpu --verifier jobs=old-again
passes old-again 01_matmul/task
run archive reverify old --device cpu --verifier jobs=old-again
run archive list old
like "$status $out" "0 01_matmul * verified *" "judged again, it is one like the others"
run archive import old -o current
like "$out" "1 kernel written to current*" "… and enters an archive"

sql ran "DELETE FROM fact WHERE name = 'rules'"
sql ran "UPDATE recheck SET rules = 1"
run resume ran
like "$status $err" "2 *ran: its verdicts follow version 1 of the rules of truth, this program judges by version 2, and a run does not mix them; 'monkeys archive reverify ran' judges its kernels again*" \
    "a run of older rules is not continued"
run archive list ran
is "$(printf '%s\n' "$out" | grep -c ' older ')" 2 "… and its kernels are shown as such"
run archive export ran -o left
like "$out" "0 kernels written to left, *2 judged by older rules of truth and left out*" "… and left out of archives"
run status ran
like "$out" "*version 1 of the rules of truth*'monkeys archive reverify ran'*" "… which its status says, too"
run archive reverify ran --device cpu --verifier jobs=ran-again
passes ran-again "starter/01_swish starter/04_softmax"
run archive reverify ran --device cpu --verifier jobs=ran-again
run archive export ran -o left
like "$out" "2 kernels written to left, *" "… until they are judged again"
finish
