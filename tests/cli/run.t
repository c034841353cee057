#!/bin/sh
# run.t: monkeys run, resume, status and archive as a user meets them: C kernels
# on the CPU, answers that the test has written itself. RUN_KILLS=100 kills the
# program that often instead of 5 times. How a run may end: stop.t; what it
# refuses and what it keeps to itself: given.t.
. tests/cli/lib.sh
. tests/cli/run/lib.sh
kills=${RUN_KILLS:-5}
set -- --dsl c-cpu --device cpu

# ---- a run ----
run run "$@" $real --cassette real.jsonl --in-flight 1 --out whole
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
like "$out" "whole: finished; $line
1 task is unsolved: 1 wrong_values
     1  wrong_values: output 0, trial 1 *" "status says the same line, that it is finished, and why a task is unsolved"
run status whole --tasks
like "$out" "*Evidence: E0 *, E2 *, E3 *" "status --tasks explains the levels of evidence"
is "$(printf '%s\n' "$out" | grep -c '^starter/')" 4 "status --tasks has the table"
run status whole --json
like "$out" '{"run":"whole","tasks":4,"skipped":0,"solved":3,"doubted":0,"aside":0,"attempts":7,*"calls":14,"answered":14,"failed":0,"lost":0,*"verdicts":{"correct":3,"no_code":1,*"assumed_usd_micro":0,"state":"finished","pid":null,"unsolved":{"untried":0,"verdicts":{"wrong_values":1},"errors":\[{"verdict":"wrong_values","error":"output 0, *","tasks":1}\]},"implausible":0,"proven":3,"rules":2}' "status --json has the figures"
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
like "$out" '{"name":"starter_01_swish","task":"starter/01_swish","dtype":"fp32","verified":true,*' "… in JSON, too"
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
cmp -s "$work/more/starter_01_swish/solution.py" "$root/tests/verify/c-cpu/01_swish.py"
ok "the kernel is what was answered"
run archive list more
is "$(printf '%s\n' "$out" | grep -c ' verified ')" 3 "an archive is listed as a run is"
$answers cassette monkeys starter/02_gelu=n >"$work/gelu.jsonl"
run run "$@" --tasks $starter/02_gelu.py --force --attempts 1 --cassette gelu.jsonl --archive kernels --pack-seeds 0 --out second
is $status 0 "another run begins with it"
like "$(tables second)" "*entry|1|1|archive|-1|0|starter_01_swish|*" "… its members are there"
like "$out" "*starter_01_swish*" "… and are shown"
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
is "$(tables some)" "$before" "4 calls at once give the same tables as one at a time"
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
    case $err in *"waits for answers from others; continue with: monkeys resume "*spooled*) ;; *) break ;; esac
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
run run "$@" --tasks $starter/01_swish.py --attempts 2 --cassette real.jsonl --verifier jobs=far --out jobs
is $status 0 "a verifier elsewhere: the run ends"
like "$err" "*1 job waits for answers: run 'monkeys-worker --jobs *far/jobs --out *far/answers'*continue with: monkeys resume jobs*" "… and says what it waits for"
$answers judge "$work/far" starter/01_swish answer '{"usable":true,"reasons":[]}'
run resume jobs
like "$status $err" "0 *1 job waits for answers*" "the gate is answered there"
(cd "$work" && env -i PATH="$PATH" HOME="$work" "$root/monkeys-worker" ${MONKEYS_PYTHON:+--python "$MONKEYS_PYTHON"} --jobs far/jobs --out far/answers 2>/dev/null)
run resume jobs
is "$status $(grep -ac 'monkeys/1 job' "$work/far/jobs")" "0 2" "… then the attempt"
like "$out" "*starter/01_swish *correct *1 *E3 *solved 1 of 1 task in 1 attempt;*" "… and the run is solved"

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
right='{"verdict":"correct","rules":2,"stage":"done","evidence":"E3","compiled":true,"kernelbench_pass":true,"feedback":"","trials":[]}'
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

finish
