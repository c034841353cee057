#!/bin/sh
# repeat.t: what a run depends on is in its folder or its recording: it is
# continued without the files of its tasks, and repeated in another folder.
. tests/cli/lib.sh
. tests/cli/run/elsewhere.sh
cd "$root" || exit 1
export PYTHONDONTWRITEBYTECODE=1
answers="python3 $root/tests/cli/run/answers.py"
starter=$root/tasks/starter
set -- --dsl c-cpu --device cpu
mkdir -p "$work/four/starter"
cp $starter/04_*.py $starter/22_*.py "$work/four/starter"

# ---- tasks that are gone ----
mkdir -p "$work/gone/set"
cp $starter/01_swish.py $starter/06_weighted_mean.py $starter/06_weighted_mean.json "$work/gone/set"
$answers cassette monkeys set/01_swish=nn set/06_weighted_mean=ns | sed '/06_weighted_mean.*"attempt": 2/d' >"$work/first.jsonl"
$answers cassette monkeys set/01_swish=nn set/06_weighted_mean=ns >"$work/both.jsonl"
run run "$@" --tasks gone/set --force --attempts 2 --cassette first.jsonl --define num_features=4321 \
    --verifier jobs=unasked --out without
is $status 4 "a run that lacks an answer"
rm -r "$work/gone"
run resume without --cassette both.jsonl
is $status 0 "continues when the files of its tasks are gone"
like "$out" "*set/06_weighted_mean *static_reject * 2 *" "… with what they held"
is "$($answers fact "$work/without" sidecar/set/06_weighted_mean)" "$(python3 -c "import json; print(json.dumps(json.load(open('$starter/06_weighted_mean.json')), separators=(',', ':')))")" "… and what stood beside them"

like "$(cat "$work/without/run.ini")" "*define = num_features=4321*" "run.ini keeps what was defined"
is "$($answers search "num_features = 4321" "$work/without" | head -1)" "found in $work/without/run.db" "… and prompts show it"
is "$($answers search "num_features = 600" "$work/without")" "" "… not what the file had, also after it is continued"

# ---- a run repeated ----
$answers cassette refine starter/04_softmax=wr starter/22_mse_loss=sr >"$work/refine.jsonl"
refine="--tasks four/starter/04_softmax.py --tasks four/starter/22_mse_loss.py --force --no-timing \
    --method refine --attempts 2"
run run "$@" $refine --cassette refine.jsonl --record repeat.jsonl --out refined
is $status 0 "a run with error figures in its prompts is recorded"
run run "$@" $refine --cassette repeat.jsonl --replay-strict --out again
is $status 0 "… and repeated exactly in another folder"
is "$($answers prompts "$work/again")" "$($answers prompts "$work/refined")" "… with the same prompts"
is "$($answers fact "$work/again" secret)" "$($answers fact "$work/refined" secret)" "… from the same test inputs"
like "$err" "*test inputs are those of the recorded run*not new evidence*" "… and says that this is no new evidence"
sed '1s/,"secret":"[0-9a-f]*"//' "$work/repeat.jsonl" >"$work/secretless.jsonl"
elsewhere other "$@" $refine --cassette secretless.jsonl --replay-strict # errors differ, as on other inputs
like "$status $err" "4 *was recorded with another prompt*" "from other inputs the prompts would differ"
[ "$($answers fact "$work/other" secret)" != "$($answers fact "$work/refined" secret)" ]
ok "… which a recording without a secret is repeated on"
run run "$@" $refine --cassette repeat.jsonl --verifier jobs=unasked --out anew # a verdict is not needed
[ "$($answers fact "$work/anew" secret)" != "$($answers fact "$work/refined" secret)" ]
ok "without --replay-strict the answers are verified on new inputs"

# ---- prompts of one's own ----
cp -R prompts "$work/own"
printf '\nA line of my own.\n' >>"$work/own/system.md"
$answers cassette monkeys starter/04_softmax=n >"$work/quick.jsonl"
run run "$@" --tasks four/starter/04_softmax.py --force --attempts 1 --cassette quick.jsonl --verifier jobs=unasked \
    --prompts own --out owned
is $status 0 "a run with templates of one's own"
is "$($answers search "A line of my own." "$work/owned" | head -1)" "found in $work/owned/run.db" "… sends them"
like "$(cat "$work/owned/run.ini")" "*prompts = $work/own*" "… and keeps where they are"
finish
