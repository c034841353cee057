#!/bin/sh
# refuse.t: what a run refuses before it has written anything, and estimates.
. tests/cli/lib.sh
mkdir "$work/tasks" "$work/empty"
cp "$root/tasks/starter/04_softmax.py" "$work/tasks"

# refused WHAT PATTERN ARGS…: exit 2, one line, no folder.
refused() {
    what=$1 pattern=$2
    shift 2
    run run --dsl c-cpu --tasks tasks --out made "$@"
    is $status 2 "$what exits 2"
    like "$err" "monkeys run: $pattern" "… and says why"
    is "$(wc -l <"$work/.err")" 1 "… in one line"
    [ -z "$out" ] && [ ! -e "$work/made" ]
    ok "… and leaves nothing"
}

refused "a device that is none" "--device: 'gpu' is not cpu, cuda:N or auto" \
    --command "echo hi" --device gpu
refused "an archive without kernels" "--archive empty: no kernel found*" \
    --command "echo hi" --archive empty
refused "an endpoint of vectors without a model" "*needs --embedding-model NAME" \
    --command "echo hi" --embeddings http://127.0.0.1:1
refused "one that is no URL" "--embeddings: base URL nowhere: not a URL*" \
    --command "echo hi" --embeddings nowhere --embedding-model m
refused "no model" "the model is missing: use --model NAME" --budget-usd 1
refused "no key" "no API key: set MONKEYS_API_KEY or OPENAI_API_KEY*" \
    --model gpt-4.1-mini --budget-usd 1
refused "no cap" "this provider costs money: set a limit with --budget-usd*" --command "echo hi" --price 1,2
printf 'a file\n' >"$work/file"
refused "a spool that is a file" "file/requests: cannot create the folder*" --spool file
refused "an unknown option in --set" "--set: unknown option 'atempts'*" \
    --command "echo hi" --set atempts=2
printf '[rnu]\nattempts = 2\n' >"$work/c.ini"
refused "a section that is no command" "c.ini:2: \[rnu\] is not a command*" -c c.ini
printf 'attempts = 2\n' >"$work/c.ini"
refused "a line before any section" "c.ini:1: a line before the first section*" -c c.ini

run run --dsl c-cpu --tasks tasks --command "echo hi" --price 1,2 --dry-run
is $status 0 "an estimate needs no cap"
like "$out" '*at most about $* for all attempts*--budget-usd*' "… and tells what it may cost"
[ ! -e "$work/run-c-cpu-monkeys" ]
ok "… without a folder"
run run --dsl c-cpu --tasks tasks --model gpt-4.1-mini --dry-run --json --attempts 2
is $status 0 "… nor a key"
like "$out" '{"tasks":1,"attempts":2,"prompts":2,"tokens_in":*,"worst_usd_micro":*}' "… and is a JSON object"

run status empty --tasks --examples
is $status 2 "--tasks and --examples do not go together"
run status empty
like "$err" "*empty/run.db: not found; name the folder of a run" "a folder without a run is named"
run prompt --dsl c-cpu --task starter/none
like "$err" "*starter/none: no such file*'monkeys tasks list'*" "a task that is not there, too"
run prompt --dsl c-cpu --task starter/04_softmax --previous file --verdict bad
like "$err" "*--verdict: unknown verdict 'bad'*" "a verdict is one of the verifier's"
run llm ping --command 'printf %s "{\"error\": \"not today\"}"'
is $status 2 "a refusal exits 2"
like "$err" "*refused: not today" "… and says that it is one"
run archive add --dsl c-cpu --task starter/04_softmax -o made --verifier jobs=far \
    "$root/tests/verify/c-cpu/04_softmax.py"
like "$err" "*1 job waits for answers: run 'monkeys-worker *' on a host with the device, then run this command again" \
    "jobs for elsewhere name the worker's command"
run run --dsl c-cpu --tasks tasks --out made --verifier jobs=far --command "echo hi"
like "$err" "*1 job waits *on a host with the device*monkeys resume made" \
    "… and for a run, what goes on"
run resume made --model another --command "echo hi"
like "$err" "*the run began with the model ''; with 'another' *" "another model is warned of"
(cd "$work" && "$monkeys" prompt --dsl c-cpu --task starter/04_softmax 2>.err; echo $? >.status) | true
is "$(cat "$work/.status")$(cat "$work/.err")" 0 "a reader that has read enough is no failure"
finish
