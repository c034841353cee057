#!/bin/sh
# decompose.t: monkeys decompose as a user meets it. The verifier is the real one; its answers are
# kept in a folder of jobs, so that it starts three times in all. The model is
# tests/cli/decompose/model.py, which answers as it is told.
. tests/cli/lib.sh
model="python3 $root/tests/cli/decompose/model.py"
cp "$root/tests/cli/decompose/task.py" "$work/task.py"

# divide OUT OPTIONS…: with the folder of jobs.
divide() {
    to=$1
    shift
    run decompose task.py -o "$to" --device cpu --verifier jobs=mail "$@"
}
# asking OUT HOW OPTIONS…: with a model that answers so; its requests are in OUT.log.
asking() {
    to=$1 how=$2
    shift 2
    divide "$to" --llm --command "$model $work/$to.log $how" "$@"
}
requests() { cat "$work/$1.log" 2>/dev/null | tr '\n' ' '; }
answer_jobs() { "$root/monkeys-worker" --jobs "$work/mail/jobs" --out "$work/mail/answers" >/dev/null 2>&1; }
# same A B: the folders hold the same pieces and problems.
same() { diff -r "$work/$1/pieces" "$work/$2/pieces" && diff -r "$work/$1/problems" "$work/$2/problems"; }

# ---- without a model ----
divide plain
is $status 4 "an answer from another host is missing"
like "$err" "*1 job waits for answers: run 'monkeys-worker --jobs mail/jobs*then run this command again*" "… and the user is told how to get it"
[ ! -e "$work/plain" ]
ok "… and nothing is written"
answer_jobs
divide plain
is $status 0 "with the answer the task is divided"
like "$out" "*task *2  2 partition *proved*1 problem, coarse: 2 pieces, 2 of them different; composition claimed for 1, proved for 1*plain/pieces" "… and the table says into what"
is "$(cd "$work/plain" && ls problems && ls pieces | wc -l)" "task.json
4" "… and the folder has the pieces with their sidecars, and the problem"
divide plain --json
is "$status" 0 "the same command may be repeated"
like "$out" '{"file":"task.py","task":"task","accepted":true,"depth":2,"problem_id":"task","level":"coarse","subproblems":[[]{*"piece":"task_p1_*"proved":true*"findings":[[]]}' "… with an object for each task"
echo stray >"$work/plain/pieces/stray.py"
divide plain
is $status 2 "a folder with other files is left alone"
like "$err" "*plain/pieces/stray.py: does not belong to this decomposition*" "… and says which"
rm "$work/plain/pieces/stray.py"

# ---- with a model: what needs no verdict ----
asking words words
is "$status $(requests words)" "0 1 2 3 4 " "replies without JSON: three repairs, then the division without a model"
like "$out" "*the verifier*task: the model was refused 4 times; the division without it is used*task, refused reply 1: bad_json (step 1)*" "… and the table says so"
diff -r "$work/plain/pieces" "$work/words/pieces"
ok "… with its pieces"
asking words words
is "$status $(requests words)" "0 1 2 3 4 " "the same command again asks nothing"
asking poor "words form" --budget-tokens 14500 --max-tokens 2000
is $status 3 "a budget that is used up ends it"
like "$(requests poor)" "1 *" "… after what it has room for"
like "$err" "*the budget has no room for another call; poor keeps the replies*" "… and says how to continue"
[ ! -e "$work/poor/pieces" ]
ok "… and no piece is written"
asking poor "words form" --budget-tokens 900000 --max-tokens 2000
is "$status $(requests poor)" "0 1 2 3 4 " "with more it goes on, and asks nothing twice"
like "$out" "*refused reply 2: bad_schema (step 1): reply: /problem_id: must be a string*" "… JSON of another form has a code of its own"

# Killed while the second request is under way.
(cd "$work" && exec env -i PATH="$PATH" HOME="$work" "$monkeys" decompose task.py -o killed \
    --device cpu --verifier jobs=mail --llm --command "$model $work/killed.log words hang") \
    >/dev/null 2>&1 &
pid=$!
while kill -0 $pid 2>/dev/null && [ "$(requests killed)" != "1 2 " ]; do sleep 0.1; done
kill -9 $pid 2>/dev/null
wait $pid 2>/dev/null
asking killed words
is "$status $(requests killed)" "0 1 2 2 3 4 " "after kill -9 only what was under way is asked again"
same killed words
ok "… with the same result"

# Stopped while a request is under way.
(cd "$work" && exec env -i $signals PATH="$PATH" HOME="$work" "$monkeys" decompose task.py -o halted \
    --device cpu --verifier jobs=mail --llm --command "$model $work/halted.log late") \
    >/dev/null 2>"$work/halted.err" &
pid=$!
while kill -0 $pid 2>/dev/null && [ "$(requests halted)" != "1 " ]; do sleep 0.1; done
kill -TERM $pid
while kill -0 $pid 2>/dev/null && ! grep -q stopping "$work/halted.err"; do sleep 0.1; done
touch "$work/halted.log.go"
wait $pid
is $? 130 "a command that is stopped waits for the reply under way"
asking halted words
is "$status $(requests halted)" "0 1 2 3 4 " "… and does not ask for it again"

# ---- with a model: what the verifier decides ----
for how in "good|good" "mended|words wrong good" "stubborn|wrong" "loose|claims"; do
    asking "${how%%|*}" "${how##*|}"
    is $status 4 "${how%%|*}: the proposal goes to the verifier"
done
run tasks check plain/pieces --device cpu --verifier jobs=mail
is $status 4 "so do the pieces"
answer_jobs
asking good good --record tape.jsonl
is "$status $(requests good)" "0 1 " "a good proposal is used"
like "$out" "*2 partition *proved *the model *-*" "… and the table says whose it is"
is "$(ls "$work/good/pieces" | tr '\n' ' ')" "task_mixed.json task_mixed.py task_scores.json task_scores.py " "… its pieces have its names"
asking mended "words wrong good"
is "$status $(requests mended)" "0 1 2 3 " "one that is repaired is used"
like "$out" "*refused reply 2, scores: output_differs_from_declared (step 4): declared *" "… and the refusals are kept"
diff -r "$work/good/pieces" "$work/mended/pieces"
ok "… with the same pieces"
asking stubborn wrong
is "$status $(requests stubborn)" "0 1 2 3 4 " "one that is refused four times is not"
diff -r "$work/plain/pieces" "$work/stubborn/pieces"
ok "… the division without a model is"
asking loose claims
is "$status $(requests loose)" "0 1 2 3 4 " "pieces that do not compose are mended three times"
like "$out" "*2 stepping_stone *not claimed *the model *composition_algebra*" "… then they are stepping stones"
run tasks check plain/pieces --device cpu --verifier jobs=mail
is $status 0 "the pieces pass the check of tasks"

# ---- other providers ----
asking taped good --record tape.jsonl
divide replayed --llm --cassette tape.jsonl
is $status 0 "a recorded reply is replayed"
same taped replayed
ok "… to the same pieces"
(cd "$work" && exec timeout 900 env -i PATH="$PATH" HOME="$work" "$monkeys" decompose task.py -o spooled \
    --device cpu --verifier jobs=mail --llm --spool folder --model m) >"$work/spooled.out" 2>&1 &
pid=$!
while kill -0 $pid 2>/dev/null && ! ls "$work"/folder/requests/*.json >/dev/null 2>&1; do sleep 0.1; done
request=$(ls "$work"/folder/requests/*.json)
$model "$work/spooled.log" good <"$request" >"$work/reply"
python3 -c 'import json, sys; print(json.dumps({"text": open(sys.argv[1]).read()}))' "$work/reply" \
    >"$work/folder/part" && mkdir -p "$work/folder/answers" &&
    mv "$work/folder/part" "$work/folder/answers/$(basename "$request")"
wait $pid
is $? 0 "a reply from a folder is used"
diff -r "$work/taped/pieces" "$work/spooled/pieces"
ok "… to the same pieces"

# ---- here, with another size ----
run decompose task.py -o here --device cpu --define T=40 --level medium
is $status 0 "the verifier here divides it, too, in another size"
grep -q "^T = 40" "$work"/here/pieces/*.py && ! grep -q "^T = 24" "$work"/here/pieces/*.py
ok "… which the pieces have"

for bad in "|*TASKS is missing*" "task.py --level rough|*coarse|medium|fine*" \
    "task.py --command true|*need --llm*" "nowhere.py|*nowhere.py*" \
    "task.py --define N=3|*N*" "task.py --precision bf16|*made in fp32*tasks check --precision bf16*" \
    "task.py -o task.py|*task.py: not a folder*" "task.py --llm --provider exec|*--command*"; do
    run decompose -o bad ${bad%%|*}
    is $status 2 "refused: decompose ${bad%%|*}"
    like "$err" "${bad#*|}" "… with the reason"
done
finish
