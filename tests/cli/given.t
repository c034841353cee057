#!/bin/sh
# given.t: what a run is given: what may change when it goes on, what cannot work
# and is refused, and keys, which stay where they are.
. tests/cli/lib.sh
. tests/cli/run/lib.sh
set -- --dsl c-cpu --device cpu

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
cp "$work/bare/run.ini" "$work/garbage"
printf 'this is not a database, whatever it is called\n' >"$work/garbage/run.db"
cp "$work/bare/run.ini" "$work/bare/run.db" "$work/newer"
python3 -c "import sqlite3; sqlite3.connect('$work/newer/run.db').execute('PRAGMA user_version = 99')"
for command in status resume; do
    run $command garbage
    is "$status $(printf '%s\n' "$err" | wc -l)" "2 1" "$command: a file that is no database exits 2"
    like "$err" "*garbage/run.db: not a database; name the folder of a run" "… and says so"
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
