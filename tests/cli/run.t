#!/bin/sh
# run.t: monkeys run, resume, status and archive as a user meets them: C kernels
# on the CPU, answers that the test has written itself. RUN_KILLS=100 kills the
# program that often instead of 10 times.
. tests/cli/lib.sh
cd "$root" || exit 1
kills=${RUN_KILLS:-10}
export PYTHONDONTWRITEBYTECODE=1
answers="python3 $root/tests/cli/run/answers.py"
starter=$root/tasks/starter
set -- --dsl c-cpu --device cpu
# Answers for two tasks that no verifier is needed for, and for four that need one.
$answers cassette monkeys starter/01_swish=sn starter/04_softmax=ns >"$work/quick.jsonl"
$answers cassette monkeys starter/01_swish=r starter/04_softmax=wr starter/05_logsumexp=nr \
    starter/22_mse_loss=sw >"$work/real.jsonl"
quick="--tasks $starter/01_swish.py --tasks $starter/04_softmax.py --force --attempts 2"
mkdir -p "$work/four/starter"
cp $starter/0[145]_*.py $starter/22_*.py "$work/four/starter"
real="--tasks four/starter --attempts 2 --batch 2"

# refused CLAIM PATTERN ARGS…: one line, exit status 2, and no folder.
refused() {
    claim=$1 pattern=$2
    shift 2
    run run --device cpu --out bad "$@"
    is "$status $(printf '%s\n' "$err" | wc -l)" "2 1" "$claim: exit status 2, one line"
    like "$err" "$pattern" "… that says why"
    [ ! -e "$work/bad" ]
    ok "… and nothing is left"
    rm -rf "$work/bad"
}
tables() { $answers tables "$work/$1"; }
value() { # NAME: a number of the status of the last run asked for
    printf '%s\n' "$out" | sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p"
}

# ---- a run ----
run run "$@" $real --cassette real.jsonl --out whole
is $status 0 "a run comes to its end"
for line in "starter/01_swish *correct *1 *E3 " "starter/04_softmax *correct *2 *E3 " \
    "starter/05_logsumexp *correct *2 *E3 " "starter/22_mse_loss *wrong_values *2 *E0 "; do
    printf '%s\n' "$out" | grep -q "^$line"
    ok "its table has $line"
done
like "$out" "*solved 3 of 4 tasks in 7 attempts; 14 calls, 1400 tokens in, 700 out; 3 correct, 1 no_code, 1 static_reject, 2 wrong_values*" "… and a line below"
like "$out" "*3 solved kernels are in the run's archive.*monkeys archive export whole -o DIR*" "… and how to get the kernels"
like "$err" "*tasks checked 4/4 *tasks finished 4/4 *" "… its progress has units"
line=$(printf '%s\n' "$out" | grep "^solved ")
run status whole
is "$out" "whole: finished; $line" "status says the same line, and that it is finished"
run status whole --tasks
like "$out" "*Evidence: E0 *, E2 *, E3 *" "status --tasks explains the levels of evidence"
is "$(printf '%s\n' "$out" | grep -c '^starter/')" 4 "status --tasks has the table"
run status whole --json
like "$out" '{"run":"whole","tasks":4,"skipped":0,"solved":3,"doubted":0,"aside":0,"attempts":7,*"calls":14,"answered":14,"failed":0,"lost":0,*"verdicts":{"correct":3,"no_code":1,*"assumed_usd_micro":0,"state":"finished","pid":null}' "status --json has the figures"
run status whole --tasks --json
like "$out" '*{"task":"starter/04_softmax","verdict":"correct","rule":null,"evidence":"E3","attempts":2,"solved_at":2,*"shown":\["*","*"\],*' "… also of each task"
before=$(tables whole)
run resume whole
is $status 0 "a run that is over can be gone on with"
is "$(tables whole)" "$before" "… and nothing is added"
run run "$@" $real --cassette real.jsonl --out whole
is $status 2 "another run in its folder is refused"
like "$err" "*whole holds a run already: 'monkeys resume whole' continues it*--out DIR*" "… with the two ways on"

# ---- the archive ----
run archive list whole
is "$(printf '%s\n' "$out" | grep -c ' verified ')" 3 "what was solved is an archive"
run archive list whole --json
like "$out" '{"name":"starter-01_swish","task":"starter/01_swish","dtype":"fp32","verified":true,*' "… in JSON, too"
run archive show whole starter/04_softmax
like "$out" "*## Task*class Model(*## Plan*Plan 2 for starter/04_softmax*## Solution*class ModelNew(*" "a kernel can be shown"
run archive show whole starter/22_mse_loss
is $status 2 "one that is not there exits 2"
run archive export whole -o kernels
is "$out" "3 kernels written to kernels, 0 there already" "export writes them"
run archive export whole -o kernels
is "$out" "0 kernels written to kernels, 3 there already" "… once"
run archive import kernels -o more
is "$out" "3 kernels written to more, 0 there already" "import adds them to another"
cmp -s "$work/more/starter-01_swish/solution.py" "$root/tests/verify/c-cpu/01_swish.py"
ok "the kernel is what was answered"
run archive list more
is "$(printf '%s\n' "$out" | grep -c ' verified ')" 3 "an archive is listed as a run is"
$answers cassette monkeys starter/02_gelu=n >"$work/gelu.jsonl"
run run "$@" --tasks $starter/02_gelu.py --force --attempts 1 --cassette gelu.jsonl --archive kernels --pack-seeds 0 --out second
is $status 0 "another run begins with it"
like "$(tables second)" "*entry|1|1|archive|-1|0|starter-01_swish|*" "… its members are there"
like "$out" "*starter-01_swish*" "… and are shown"
run run "$@" --tasks $starter/02_gelu.py --force --attempts 1 --cassette quick.jsonl --archive more --pack-seeds 1 --out third
is $status 4 "a run that could not ask"
first=$(tables third | grep ^entry)
rm -r "$work/more"
run resume third --cassette gelu.jsonl
is $status 0 "goes on with the examples that it began with, when their folder is gone"
is "$(tables third | grep ^entry)" "$first" "… all of them"

# ---- the same run, however it goes ----
began=$(date +%s%N)
run run "$@" $real --cassette real.jsonl --force --in-flight 4 --out some
took=$((($(date +%s%N) - began) / 1000000))
is "$(tables some)" "$before" "4 calls at once give the same tables"
run run "$@" $real --cassette real.jsonl --force --in-flight 1 --out one
is "$(tables one)" "$before" "so does one"
out=$(cd "$work" && env -i PATH="$PATH" HOME="$work" PYTHONDONTWRITEBYTECODE=1 \
    ${MONKEYS_PYTHON:+MONKEYS_PYTHON="$MONKEYS_PYTHON"} python3 "$root/tests/cli/run/kills.py" \
    "$kills" "${took%???}.${took#"${took%???}"}" $$ killed "$monkeys" "$@" $real --cassette real.jsonl --force 2>&1)
status=$? err=
is $status 0 "killed and gone on with (seed $$, $took ms): $out"
is "$(tables killed)" "$before" "… the tables are the same"
run status killed --json
is "$(value attempts) $(value answered)" "7 14" "… and as many answers were taken"

# ---- a pack without a recorder ----
mkdir "$work/packs"
cp -R packs/c-cpu "$work/packs"
sed -i '/"family"/d' "$work/packs/c-cpu/pack.json"
run run "$@" $quick --cassette quick.jsonl --packs packs --out bounded
is $status 0 "a pack without a recorder can be searched with"
like "$err" "*the pack c-cpu has no recorder*verdicts end at E2*no kernel joins the archive*" "… and the run says what that means"

# ---- a folder of questions ----
rounds=0
run run "$@" $quick --spool folder --no-wait --out spooled --record tape.jsonl
while [ $status = 0 ] && [ $rounds -lt 9 ]; do
    case $err in *"waits for answers from elsewhere; continue with: monkeys resume "*spooled*) ;; *) break ;; esac
    rounds=$((rounds + 1))
    $answers spool "$work/folder" "$work/quick.jsonl"
    run resume spooled --no-wait
done
is "$status $rounds" "0 4" "a folder: each stage is asked, answered and gone on with"
run status spooled --json
is "$(value attempts) $(value calls) $(value answered) $(value lost)" "4 8 8 0" "… and nothing twice"
run run "$@" $quick --cassette tape.jsonl --replay-strict --out replayed
is $status 0 "--record made a cassette of it"
is "$(tables replayed)" "$(tables spooled)" "… that replays to the same tables, with the same prompts"

# ---- a verifier elsewhere ----
run run "$@" --tasks $starter/04_softmax.py --attempts 2 --cassette real.jsonl --verifier jobs=far --out jobs
is $status 0 "a verifier elsewhere: the run ends"
like "$err" "*1 job waits for answers: run 'monkeys-worker --jobs *far/jobs --out *far/answers'*continue with: monkeys resume jobs*" "… and says what it waits for"
worker() { (cd "$work" && env -i PATH="$PATH" HOME="$work" "$root/monkeys-worker" ${MONKEYS_PYTHON:+--python "$MONKEYS_PYTHON"} --jobs far/jobs --out far/answers 2>/dev/null); }
rounds=0
while [ $status = 0 ] && [ $rounds -lt 5 ]; do
    case $err in *" for answers: run "*) ;; *) break ;; esac
    rounds=$((rounds + 1))
    worker
    run resume jobs
done
is "$status $rounds" "0 3" "the gate, then each attempt, is answered there"
like "$out" "*starter/04_softmax *correct *2 *E3 *solved 1 of 1 task in 2 attempts;*" "… and the run is solved"

# ---- what nobody can judge there ----
run run "$@" --tasks $starter/01_swish.py --tasks $starter/04_softmax.py --attempts 1 --cassette real.jsonl --verifier jobs=hand --out some-of-it
like "$err" "*2 jobs wait for answers*" "two tasks wait for the gate"
$answers judge "$work/hand" starter/01_swish infra "its reference needs 40 GB"
$answers judge "$work/hand" starter/04_softmax answer '{"usable":true,"reasons":[]}'
run resume some-of-it
like "$err" "*starter/01_swish is skipped: could not be checked: its reference needs 40 GB*" "one that could not be checked is skipped with the reason"
like "$err" "*1 job waits for answers*continue with: monkeys resume some-of-it*" "… and the other is tried"
$answers judge "$work/hand" starter/04_softmax infra "the GPU fell off the bus"
run resume some-of-it
is $status 4 "a candidate that the worker could not judge is not waited for"
like "$out" "*starter/04_softmax *set aside * 0 *the GPU fell off the bus*" "… its task is set aside, with the reason"
like "$err" "*1 job failed and can be tried again: run 'monkeys-worker *continue with: monkeys resume some-of-it*" "… and the way on is told"
right='{"verdict":"correct","stage":"done","evidence":"E3","compiled":true,"kernelbench_pass":true,"feedback":"","trials":[]}'
id=$(grep -ao 'monkeys/1 infra [^ ]*' "$work/hand/answers" | tail -1 | cut -d' ' -f3)
printf 'monkeys/1 answer %s 0 %s\n%s' "$id" ${#right} "$right" >>"$work/hand/answers"
run resume some-of-it
is $status 0 "once a worker has judged it the run goes on"
like "$out" "*starter/04_softmax *correct *1 *E3 *" "… with its verdict"
run run "$@" --tasks $starter/01_swish.py --force --attempts 1 --cassette real.jsonl --verifier jobs=forced --out forced-on
$answers judge "$work/forced" starter/01_swish answer '{"verdict":"infra","infra":"its reference cannot run in bf16","unusable":true}'
run resume forced-on
is $status 4 "a task that cannot be judged, under --force"
like "$out" "*starter/01_swish *set aside * 0 *its reference cannot run in bf16*" "… is set aside, with the reason"
is "$(grep -ac 'monkeys/1 job' "$work/forced/jobs")" 1 "… and is not asked about again"

# ---- how it may end ----
run run "$@" $quick --command "$answers command quick.jsonl asked" --price 1,2 --budget-usd 0.000001 --out poor
is $status 3 "a budget that is too small exits 3"
like "$err" "*out of budget: the next attempt may cost \$0.*, and \$0.0000 of \$0.0000 is left; continue with: monkeys resume poor --budget-usd 0.*" "… and says so"
[ ! -e "$work/asked" ]
ok "… and nothing was asked"
run status poor
like "$out" "poor: out of budget; *" "… status, too"
run resume poor --budget-usd 10
is $status 0 "with a higher one it goes on"
is "$(grep '^budget-usd' "$work/poor/run.ini")" "budget-usd = 10" "… which stays the run's"
run status poor --json
is "$(value usd_micro)" 1600 "… and tells what it cost"
run run "$@" $quick --cassette gelu.jsonl --out refused
is $status 4 "a provider that refuses everything exits 4"
like "$err" "*gelu.jsonl has no answer for starter/01_swish*some tasks were set aside*" "… and says why"
run status refused --json
is "$(value attempts)" 0 "… which is nobody's attempt"
is "$(value aside)" 2 "… but counts as set aside"
run status refused --tasks
like "$out" "*starter/01_swish *set aside *gelu.jsonl has no answer*2 set aside*" "… with the reason, also later"
run resume refused --cassette quick.jsonl
is $status 0 "it goes on when answers are there"
run status refused --tasks
like "$out" "*starter/01_swish *no_code *in 4 attempts; 8 calls*" "… and is aside no more"
run resume refused --temperature 0.5 --max-tokens 99
like "$err" "*the run began with --temperature '1'; with '0.5' it continues differently from an uninterrupted run*--max-tokens '16384'; with '99'*" "what changes the answers is warned of"
run run "$@" --tasks $starter/01_swish.py --attempts 1 --out ended --command \
    "test -e once || pkill -9 -P \$PPID monkeys-worker; touch once; $answers command real.jsonl asked"
is $status 0 "a worker that ends does not end the run"
like "$err" "*monkeys-worker ended unexpectedly; starting it again*" "… and is started again"
like "$out" "*starter/01_swish *correct *1 *E3 *" "… and judges what it had not"
(cd "$work" && exec env -i PATH="$PATH" HOME="$work" "$monkeys" run "$@" $real --cassette real.jsonl --out checked >checked.out 2>&1) &
pid=$!
until [ -e "$work/checked/run.db" ]; do kill -0 $pid 2>/dev/null || break; done
kill -INT $pid
wait $pid
is $? 130 "stopped while tasks are checked it exits 130"
like "$(cat "$work/checked.out")" "*the run was stopped; continue with: monkeys resume checked*" "… and says how to go on"
run resume checked
is "$status" 0 "… which works"
is "$(tables checked)" "$before" "… and comes to the same"
rm -f "$work/asked"
run run "$@" $quick --command "$answers command quick.jsonl asked stop" --in-flight 1 --out stopped
is $status 130 "an interrupted run exits 130"
is "$(grep -c . "$work/asked")" 1 "… and asks no more"
run status stopped
like "$out" "stopped: stopped; *" "… status knows that it was stopped"
run status stopped --json
is "$(value calls) $(value answered)" "1 1" "… what was paid for is kept"
run resume stopped
is $status 0 "it goes on"
is "$(grep -c . "$work/asked") $(sort "$work/asked" | uniq -d | wc -l)" "8 0" "… and asks nothing twice"
is "$(tables stopped)" "$(tables replayed)" "… with the same tables"
rm -f "$work/asked"
run run "$@" $quick --command "$answers command quick.jsonl asked hangup" --in-flight 1 --out hung
is "$status $(grep -c . "$work/asked")" "130 1" "so does one whose terminal is closed"
run status hung --json
is "$(value answered) $(value lost)" "1 0" "… which loses nothing"
rm -f "$work/asked"
trap '' HUP
signals=
run run "$@" $quick --command "$answers command quick.jsonl asked hangup" --in-flight 1 --out nohup
trap - HUP
signals=--default-signal=HUP
is $status 0 "… unless it was told not to mind"
rm -f "$work/asked"
run run "$@" $quick --command "$answers command quick.jsonl asked stop" --rpm 1 --price 1,2 --budget-usd 1 --out slow
is "$status $(grep -c . "$work/asked")" "130 1" "an interrupted run does not ask what waited for its turn"
run status slow --json
is "$(value answered) $(value lost) $(value usd_micro)" "1 0 200" "… which has cost nothing"
run resume slow --rpm 100000
is "$status $(sort "$work/asked" | uniq -d | wc -l)" "0 0" "… and is asked when the run goes on"
is "$(tables slow)" "$(tables replayed)" "… with the same tables"
mkdir "$work/held"
(cd "$work" && exec env -i PATH="$PATH" HOME="$work" "$monkeys" run "$@" $quick --spool folder2 --out held >held.out 2>&1) &
pid=$!
until ls "$work"/folder2/requests/*.json >/dev/null 2>&1; do
    kill -0 $pid 2>/dev/null || break
done
run resume held
is $status 2 "a run's folder that is in use is refused"
like "$err" "*held: in use by process $pid" "… and by whom"
run status held
is $status 0 "status can be asked meanwhile"
like "$out" "held: running (process $pid); *" "… and says which process it is"
kill -TERM $pid
wait $pid
is $? 130 "stopped it does not wait for answers that may take days"

# ---- what is given anew ----
python3 - "$work/alone.jsonl" <<'END'
import json, sys
with open(sys.argv[1], "w") as f:
    print(json.dumps({"cassette": 1, "model": "", "date": "", "note": ""}), file=f)
    for stage in ("plan", "code"):
        key = {"task": "alone", "method": "monkeys", "stage": stage, "attempt": 1}
        print(json.dumps({"key": key, "prompt": "0" * 64, "text": "no", "usage": {"input": 1, "output": 1}}), file=f)
END
cp $starter/01_swish.py "$work/alone.py"
run run "$@" --tasks alone.py --force --attempts 1 --cassette alone.jsonl --out bare
is $status 0 "a task that is named without a folder"
run resume bare
is $status 0 "… is the same when the run goes on"
run resume bare --verifier there
is $status 2 "what cannot work is refused"
run resume bare
is $status 0 "… and does not stay"
run resume bare --command "$answers command alone.jsonl" --price 1,2
like "$err" "*this provider costs money: set a limit with --budget-usd*" "another provider takes the place of the first"
run resume bare --command "$answers command alone.jsonl" --price 1,2 --no-cap
is $status 0 "… with its cap"
run resume bare --budget-usd 1
is "$status $(grep -c '^no-cap' "$work/bare/run.ini")" "0 0" "a cap takes the place of none"
sed -i 's/^method = .*/method = sampling/' "$work/bare/run.ini"
run resume bare
like "$err" "*the run began with --method 'monkeys'; with 'sampling' it continues differently*" "a run.ini that was changed by hand is warned of"
cp $starter/01_swish.py "$work/$(printf 'two\nlines').py"
refused "a task whose name run.ini cannot keep" "*--tasks: *more than one line*" --dsl c-cpu --tasks "$(printf 'two\nlines.py')" --cassette alone.jsonl
(cd "$work" && exec env -i PATH="$PATH" HOME="$work" "$monkeys" run "$@" --tasks alone.py --force --attempts 1 --price 1,2 --budget-usd 1 \
    --command 'echo $$ >begun; exec sleep 600' --out moved >moved.out 2>&1) &
pid=$!
until [ -s "$work/begun" ]; do kill -0 $pid 2>/dev/null || break; done
kill -KILL $pid
kill "$(cat "$work/begun")"
wait $pid 2>/dev/null
run status moved
like "$out" "moved: killed; *" "a run that was killed is known as such"
run resume moved --spool another --no-wait
is $status 0 "a run whose call was killed goes on in a folder"
run status moved --json
spent=$(value usd_micro)
is "$(value lost) $((spent > 0))" "1 1" "… and the call counts as spent: $spent"
is "$(value assumed_usd_micro)" "$spent" "… which is assumed, not metered"
run status moved
like "$out" "*, \$0.000000 metered, \$0.* assumed*" "… and is said to be"
run resume moved --no-wait
run status moved --json
is "$(value lost) $(value usd_micro)" "1 $spent" "what waits in the same folder does not"
run resume moved --spool elsewhere --no-wait
run status moved --json
is "$(value lost)" 2 "… in another it does"

# ---- what cannot work ----
swish="--tasks $starter/01_swish.py"
run run "$@" $quick --spool nospool --dry-run
[ ! -e "$work/nospool" ]
ok "an estimate makes no folder"
mkdir "$work/empty" "$work/twice" "$work/twice/a" "$work/twice/b" "$work/twice/b/a"
cp $starter/01_swish.py "$work/twice/a"
cp $starter/01_swish.py "$work/twice/b/a"
printf 'def get_inputs():\n    return []\n\n\ndef get_init_inputs():\n    return []\n' >"$work/half.py"
printf 'import torch\nimport torch.nn as nn\n\n\nclass Model(nn.Module):\n    def forward(self, x):\n        return torch.zeros_like(x)\n\n\ndef get_inputs():\n    return [torch.rand(4)]\n\n\ndef get_init_inputs():\n    return []\n' >"$work/zero.py"
with="--cassette quick.jsonl"
refused "no tasks" "*--tasks*" --dsl c-cpu $with
refused "an empty collection" "*empty*" --dsl c-cpu --tasks empty $with
refused "tasks that are not there" "*nowhere*" --dsl c-cpu --tasks nowhere $with
refused "two tasks of one name" "*a/01_swish*" --dsl c-cpu --tasks twice/a --tasks twice/b/a $with
refused "a file without a model" "*half.py*Model*" --dsl c-cpu --tasks half.py $with
refused "no pack" "*--dsl*" $swish $with
refused "an unknown pack" "*nothing*" --dsl nothing $swish $with
refused "a pack that cannot be searched with" "*cuda*" --dsl cuda $swish $with
refused "no attempts" "*--attempts*" --dsl c-cpu $swish $with --attempts 0
refused "batches of none" "*--batch*" --dsl c-cpu $swish $with --batch 0
refused "an unknown method" "*--method*" --dsl c-cpu $swish $with --method guess
refused "an unknown option of a file" "*--set*" --dsl c-cpu $swish $with --set tries=3
refused "phases that do not fit" "*--phases*" --dsl c-cpu $swish $with --method combined --phases 1,2
refused "a model that costs money without a cap" "*--budget-usd*--no-cap*" --dsl c-cpu $swish --model gpt-4.1-mini --base-url http://127.0.0.1:1/v1
refused "a cassette that is not there" "*missing.jsonl*" --dsl c-cpu $swish --cassette missing.jsonl
refused "an archive that is not there" "*--archive missing*" --dsl c-cpu $swish $with --archive missing
refused "an unknown verifier" "*--verifier*" --dsl c-cpu $swish $with --verifier there --force
refused "embeddings without a model" "*--embedding-model*" --dsl c-cpu $swish $with --embeddings http://127.0.0.1:1 --force
run run "$@" --tasks zero.py $with --out bad
is "$status" 2 "a collection that the gate refuses as a whole exits 2"
like "$err" "*zero is skipped: *none of the 1 tasks can be used*--force*" "… with the reasons"
[ ! -e "$work/bad" ]
ok "… and nothing is left"
run run "$@" $quick $with --out half.py/run
is $status 2 "a folder that cannot be made exits 2"
(cd "$work" && trap '' XFSZ && ulimit -f 16 && exec env -i PATH="$PATH" HOME="$work" "$monkeys" run "$@" $quick $with --out bad >/dev/null 2>&1)
status=$?
[ $status -ne 0 ] && [ ! -e "$work/bad" ]
ok "a database that there is no room for leaves nothing"
mkdir "$work/garbage" "$work/newer"
cp "$work/whole/run.ini" "$work/garbage"
printf 'this is not a database, whatever it is called\n' >"$work/garbage/run.db"
cp "$work/whole/run.ini" "$work/whole/run.db" "$work/newer"
python3 -c "import sqlite3; sqlite3.connect('$work/newer/run.db').execute('PRAGMA user_version = 99')"
for command in status resume; do
    run $command garbage
    is "$status $(printf '%s\n' "$err" | wc -l)" "2 1" "$command: a file that is no database exits 2"
    like "$err" "*garbage/run.db: not a database" "… and says so"
    run $command newer
    is "$status $(printf '%s\n' "$err" | wc -l)" "2 1" "$command: a newer database exits 2"
    like "$err" "*newer/run.db: has schema 99, but this program knows only up to *" "… and says so"
    run $command nowhere
    is "$status $(printf '%s\n' "$err" | wc -l)" "2 1" "$command: a folder without a run exits 2"
done

# ---- keys stay where they are ----
key=sk-test-0123456789-only-here
other=sk-other-9876543210-only-here
keyed() { # as run, with keys in the environment
    (cd "$work/keys" && env -i PATH="$PATH" HOME="$work" MONKEYS_API_KEY=$key OPENAI_API_KEY=$other ANTHROPIC_API_KEY=$other \
        ${MONKEYS_PYTHON:+MONKEYS_PYTHON="$MONKEYS_PYTHON"} "$monkeys" "$@") >>"$work/keys/output" 2>&1 </dev/null
    status=$?
}
mkdir "$work/keys"
python3 tests/llm/server.py --log "$work/server.log" >"$work/port" &
pid=$!
until [ -s "$work/port" ]; do
    kill -0 $pid 2>/dev/null || break
done
url=http://127.0.0.1:$(cat "$work/port")/v1
keyed run "$@" $quick --base-url "$url" --model any --price 0,0 --attempts 1 --record tape.jsonl.zst --out answered
is $status 0 "a run against a server"
keyed run "$@" $quick --base-url "$url" --model any+status=401+echo --price 0,0 --retries 0 --out denied
is $status 4 "… and one that is denied with the key in the complaint"
keyed run "$@" $quick --base-url http://127.0.0.1:1/v1 --model any --price 0,0 --retries 0 --attempts 1 --out unreachable
is $status 4 "… and one that reaches nobody"
kill $pid
grep -q "$key" "$work/server.log"
ok "the server was given the key"
keyed run "$@" --tasks $starter/04_softmax.py --force --attempts 2 --command "$answers command ../real.jsonl log look" --out executed
is $status 0 "a run with a command"
keyed run "$@" $quick --command 'env; echo $MONKEYS_API_KEY $OPENAI_API_KEY; env >&2; exit 1' --retries 0 --out failed
is $status 4 "… and one that fails"
for run in answered denied executed failed; do
    keyed status $run --tasks
    keyed archive list $run
done
grep -q "process monkeys-worker" "$work/keys/log.env" && [ "$(grep -ac '^process ' "$work/keys/log.env")" -gt 5 ]
ok "the environment of the worker and of its processes was looked at"
grep -q '\[key\]' "$work/keys/output"
ok "a key in a complaint is shown as such"
out=$($answers search "$key" "$work/keys"; $answers search "$other" "$work/keys")
is "$out" "" "no file, no packed text, no output and no environment has a key"
is "$($answers search "Plan 2 for starter/04_softmax" "$work/keys")" "found in $work/keys/executed/run.db" "… and a packed text would have been found"
finish
