#!/bin/sh
# tasks.t: which files count as tasks, and how lists and devices are read. Nothing
# is run.
. tests/cli/lib.sh
mkdir -p "$work/set/lists"
cp "$root/tasks/starter/04_softmax.py" "$work/set"
printf 'def helper():\n    pass\n' >"$work/set/utils.py"
printf 'x = (\n' >"$work/set/half.py"

run tasks list set
is "$status" 0 "files that are not tasks do not stop 'tasks list'"
like "$out" "set/04_softmax *softmax" "… which lists the rest"
like "$err" "set/half.py:1:5: *(skipped)
set/utils.py: 'class Model' is missing*(skipped)" "… and names them all"
run tasks list set --strict
is "$status" 2 "--strict refuses them"
like "$err" "*set/half.py*set/utils.py*2 files are not tasks (above)" "… and names them, too"
run tasks list set/utils.py
is "$status" 2 "one without any other is refused"
run tasks check set --verifier jobs=gate
like "$err" "*utils.py*1 job waits for answers*" "'tasks check' goes on with the rest"
run run --dsl c-cpu --tasks set --command "echo hi" --dry-run --attempts 1 --json
like "$status $out" '0 {"tasks":1,*' "and so does 'run'"
run run --dsl c-cpu --tasks set --command "echo hi" --dry-run --strict
like "$status $err" "2 *2 files are not tasks (above)" "… unless it is strict"

printf 'x = 1\n' >"$work/set/lists/empty.py"
printf '../04_softmax.py empty.py\nstarter/04_softmax empty.py\n' >"$work/set/lists/pairs"
run verify --dsl c-cpu --device cpu --list set/lists/pairs --json
is "$status" 1 "paths in a list are relative to the list"
is "$(printf '%s\n' "$out" | grep -c '"file":"set/lists/empty.py"')" 2 "… and reported as seen from here"
like "$out" '*"task":"set/04_softmax"*"task":"starter/04_softmax"*' "… but for tasks of the program"
printf 'alone\n' >"$work/bad"
run verify --dsl c-cpu --list bad
like "$status $err" "2 *bad:1: not a pair: write TASK FILE, *" "a line without a pair is refused"

# Jobs that nobody takes tell what would be verified.
named() { run verify --dsl c-cpu --device cpu --verifier jobs=named "$@"; }
mkdir "$work/my kernels"
cp tests/verify/c-cpu/01_swish.py tests/verify/c-cpu/04_softmax.py "$work/my kernels"
echo '{"task": "starter/01_swish", "file": "my kernels/01_swish.py"}' >"$work/lines"
named --list lines
is "$(grep -ac '"id":"starter/01_swish"' "$work/named/jobs")" 1 "a line of JSON may name a file with a space"
named --tasks starter "my kernels"
like "$status $(cat "$work/named/jobs")" '4 *"id":"starter/01_swish"*"id":"starter/04_softmax"*' "files of a folder are for the tasks of their names"
named --tasks starter set/lists/empty.py
like "$status $err" "2 *set/lists/empty.py: no task of --tasks has this name*" "a name that no task has is refused"
named --tasks starter --list lines
like "$status $err" "2 *or --tasks PATH FILE*" "and so are two ways at once"

run check --dsl c-cpu set/lists/empty.py
like "$out" "set/lists/empty.py: error: *" "a finding about the whole file has no line"
run verify --dsl c-cpu --device cpu --task starter/04_softmax set/lists/empty.py
is "$(printf '%s\n' "$out" | grep -c 'line 0')" 0 "… nor has its feedback"

plain=$(cd "$work" && "$monkeys" tasks list set/04_softmax.py --json)
run tasks list set --json --define num_features=100
is "$status" 0 "--define sets a size"
[ "$(echo "$out" | wc -l)" = 1 ] && [ "$out" != "$plain" ]
ok "… and makes another program of the task"
run tasks list set starter --define nothing=1
like "$status $err" "2 *--define nothing=1: no task has such a line*set/04_softmax has batch_size, num_features" \
    "a name that no task assigns is refused"
cp "$root/tasks/starter/01_swish.py" "$work/set/beside.py"
printf '{"tolerance": {"error_ratio": 0.01, "slices": 1}}' >"$work/set/beside.json"
run tasks check set/04_softmax.py set/beside.py --define num_features=0 --device cpu
like "$status $out" "1 *set/04_softmax*unusable: *" "'tasks check' looks at the defined task"
like "$out" "*set/beside *unusable: beside.json: /tolerance/slices: unknown key; there are error_ratio, *" \
    "… and into its sidecar"
rm "$work/set/beside.py" "$work/set/beside.json"
run verify --dsl c-cpu --device cpu --list set/lists/pairs --define num_features=many
like "$status $err" "2 *--define num_features=many: write NAME=VALUE*" "'verify' has it, too"

if [ ! -e /dev/nvidiactl ] && [ ! -e /dev/dxg ]; then
    for command in "verify --task starter/04_softmax set/lists/empty.py" \
        "archive add --task starter/04_softmax -o made set/lists/empty.py" \
        "run --tasks set --command true --out made"; do
        run $command --dsl triton --device cuda:0
        like "$status $err" "2 *--device cuda:0: this machine has no GPU*--device cpu*--verifier jobs=DIR*" \
            "a GPU that is not there is refused at once: ${command%% *}"
    done
    run run --tasks set --command true --dsl triton --device cuda:0 --dry-run
    is "$status" 0 "… but not to estimate a run"
    [ ! -e "$work/made" ]
    ok "nothing is made"
fi
finish
