#!/bin/sh
# archive.t: solved kernels as files: listed, shown, copied, added.
. tests/cli/lib.sh
seeds=$root/packs/c-cpu/seeds

run archive list "$seeds"
is $status 0 "the seeds of a pack are an archive"
like "$out" "01_matmul *verified*" "… a line for each kernel"
run archive list "$seeds" --json
like "$out" '{"name":"01_matmul",*' "… or a JSON object"
run archive show "$seeds" 01_matmul
like "$out" "*## Task*## Plan*## Solution*class ModelNew*" "a kernel is shown with task and plan"
run archive show "$seeds" 01_matmul --json
like "$out" '{"name":"01_matmul",*"problem":"*"solution":"*' "… or as a JSON object"
is "$(wc -l <"$work/.out")" 1 "… on one line"
run archive show "$seeds" none
is $status 2 "one that is not there exits 2"
like "$err" "*no kernel none; 'monkeys archive list *" "… and says where to look"

mkdir "$work/nothing"
run archive list nothing
like "$status $out" "0 nothing: no kernels yet; they come from a run *'monkeys archive add'*" "an empty archive says where kernels come from"
run archive list nothing --json
is "$status$out" 0 "… but not in JSON"

run archive import "$seeds" -o mine
like "$out" "* kernels written to mine, 0 there already" "archives are added to another"
is "$(cd "$work/mine" && python3 -c 'import os; print([n for n in os.listdir() if not n.isidentifier()])')" "[]" \
    "… under names that Python can import"
run archive import "$seeds" -o mine --json
like "$out" '{"archive":"mine","written":0,"known":*' "… once"
run archive import nowhere -o other
is $status 2 "a folder that is not there exits 2"
[ ! -e "$work/other" ]
ok "… and leaves nothing"

cat >"$work/nearly.py" <<'END'
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return 1 + 1e-5 * torch.tanh(x)
def get_inputs():
    return [torch.randn(37, 130)]
def get_init_inputs():
    return []
END
right=$root/tests/verify/c-cpu/04_softmax.py
# add TASK ARCHIVE OPTIONS…: one worker answers for all, where it is not said otherwise.
add() {
    task=$1 to=$2
    shift 2
    run archive add --dsl c-cpu --device cpu --task $task -o $to "$right" --verifier jobs=later "$@"
}
add starter/04_softmax own --define num_features=65
is "$status $(printf '%s\n' "$err" | grep -c '1 job waits for answers')" "4 1" "without an answer it is not added yet"
add nearly.py own
add starter/01_swish none
(cd "$work" && "$root/monkeys-worker" ${MONKEYS_PYTHON:+--python "$MONKEYS_PYTHON"} --jobs later/jobs --out later/answers 2>"$work/.err")
is $? 0 "a worker answers"
add nearly.py own
is $status 4 "for a task that the gate refuses there is no verdict"
like "$out$err" "*the task cannot be judged: *a constant passes*" "… and the reason is told"
[ ! -e "$work/own" ]
ok "… and nothing is left"
run archive add --dsl c-cpu --task starter/04_softmax -o own "$right" --define features=65
like "$status $err" "2 *--define features=65: no task has such a line*04_softmax has batch_size, num_features*" \
    "a size that the task does not have is refused"
add starter/04_softmax own --json --define num_features=65
is $status 0 "a right kernel joins"
like "$out" '{"file":"*","added":true,"verdict":"correct","evidence":"E3",*"name":"starter_04_softmax"}' \
    "… and says so as a JSON object"
is "$(grep -c '^num_features = 65$' "$work/own/starter_04_softmax/task.py")" 1 "… with the task at the size of --define"
run archive add --dsl c-cpu --task starter/04_softmax -o own "$right" --define num_features=65
is $status 2 "a second one for the same task is refused"
add starter/01_swish none --json
is $status 1 "a wrong one exits 1"
like "$out" '{"file":"*","added":false,"verdict":"wrong_*' "… with its verdict"
[ ! -e "$work/none" ]
ok "… and leaves nothing"
touch "$work/file"
run archive add --dsl c-cpu --task starter/01_swish -o file "$right"
is $status 2 "an archive is a folder"
# What was verified is delivered with what was answered.
answers="python3 -B $root/tests/cli/run/answers.py"
$answers cassette monkeys starter/01_swish=r starter/04_softmax=r >"$work/tape.jsonl"
mkdir -p "$work/with/starter"
cp "$root/tasks/starter/01_swish.py" "$work/with/starter"
printf '{"variants": ["signed"]}' >"$work/with/starter/01_swish.json"
run run --dsl c-cpu --device cpu --force --attempts 1 --cassette tape.jsonl --verifier jobs=far --out ran \
    --tasks "with/starter/01_swish.py" --tasks "$root/tasks/starter/04_softmax.py"
correct='"verdict":"correct","stage":"done","evidence":"E3","compiled":true,"kernelbench_pass":true,"feedback":"","trials":[]'
timing='"timing":{"ms":{"median":0.5}},"error_ratio":0.25'
$answers judge "$work/far" starter/01_swish answer "{$correct,$timing,\"ported\":\"class ModelNew: pass  # made\\n\"}"
$answers judge "$work/far" starter/04_softmax answer "{$correct,\"ported\":null,\"ported_why\":\"it is too large\"}"
run resume ran
is $status 0 "a run whose judge made a ModelNew of a trace"
run archive export ran -o both
is "$(cat "$work/both/starter_01_swish/solution_ported.py")" "class ModelNew: pass  # made" "export writes it beside the original"
cmp -s "$work/both/starter_01_swish/solution.py" "$root/tests/verify/c-cpu/01_swish.py"
ok "… which is as it was answered"
[ ! -e "$work/both/starter_04_softmax/solution_ported.py" ] && grep -q '"ported_why": "it is too large"' "$work/both/starter_04_softmax/meta.json"
ok "one that has none says why"
like "$(tr -d ' \n' <"$work/both/starter_01_swish/meta.json")" '*"judged":{"error_ratio":0.25,"timing":{"ms":{"median":0.5}}}*' "what the judge measured is there"
is "$(tr -d ' \n' <"$work/both/starter_01_swish/task.json")" '{"variants":["signed"]}' "the sidecar of its task is there, too"
[ ! -e "$work/both/starter_04_softmax/task.json" ]
ok "… where there is one"
for dir in ran both; do
    run archive show $dir starter_01_swish
    like "$out" "*## Solution*class ModelNew(*## Ported*class ModelNew: pass  # made" "show prints it, of $dir"
    run archive show $dir starter_04_softmax
    like "$out" "*## Ported*Not available: it is too large*only the trace was judged*" "… or why there is none"
done
run archive show ran starter/01_swish --json
like "$out" '*"ported":"class ModelNew: pass  # made*' "… in JSON, too"
run archive import both -o copy
[ -e "$work/copy/starter_01_swish/solution_ported.py" ] && [ -e "$work/copy/starter_01_swish/task.json" ]
ok "import takes both along"
sql() { python3 -c 'import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone() or [])' "$work/$1/run.db" "$2"; }
is "$(sql ran "SELECT count(ported) FROM entry WHERE origin = 'run'")" 1 "the entry refers to it"

# A run from before there were any.
run run --dsl c-cpu --device cpu --force --attempts 1 --cassette tape.jsonl --verifier jobs=old --out old --tasks "$root/tasks/starter/01_swish.py"
$answers judge "$work/old" starter/01_swish answer "{$correct}"
run resume old
for table in task attempt entry entry_left; do sql old "DROP TRIGGER ${table}_new"; done
sql old "DROP TABLE recheck"
sql old "ALTER TABLE entry DROP COLUMN ported"
for column in kind level title needs parents depth; do sql old "ALTER TABLE task DROP COLUMN $column"; done
sql old "ALTER TABLE shown DROP COLUMN reason"
sql old "CREATE TABLE call_1 AS SELECT purpose AS stage, * FROM call"
sql old "DROP TABLE call"
sql old "DROP TABLE change"
sql old "DROP TABLE look"
for column in purpose asked assumed_usd_micro; do sql old "ALTER TABLE call_1 DROP COLUMN $column"; done
sql old "ALTER TABLE call_1 RENAME TO call"
sql old "PRAGMA user_version = 1"
run archive export old -o before
is "$out" "1 kernel written to before, 0 there already" "a run from before there were any is read"
is "$(sql old "PRAGMA user_version")" 1 "… as it is"
run resume old
is "$status $(sql old "PRAGMA user_version")" "0 $(sql ran "PRAGMA user_version")" "one that goes on is brought up to date"

# A disk that fills while kernels are written. A mount shows it for real; without
# the right to one, a limit on the size of files does.
mkdir "$work/disk"
if mount -t tmpfs -o "size=$((8 * $(getconf PAGESIZE)))" tmpfs "$work/disk" 2>/dev/null; then
    trap 'umount "$work/disk"; rm -rf "$work"' EXIT
    run archive import "$seeds" -o disk/full
    like "$status $err" "4 *No space left on device*" "a disk that fills ends it, and is named"
else
    (cd "$work" && trap '' XFSZ && ulimit -f 4 && exec env -i PATH="$PATH" HOME="$work" "$monkeys" archive import "$seeds" -o disk/full) >"$work/.out" 2>"$work/.err"
    status=$? err=$(cat "$work/.err")
    like "$status $err" "4 *File too large*" "a disk that fills ends it, and is named"
fi
run archive list disk/full
is "$status $(printf '%s\n' "$out" | grep -vc verified)" "0 0" "… and what is there is whole: list reads it"
whole=$(printf '%s\n' "$out" | wc -l)
run archive import disk/full -o other-disk
like "$out" "$whole kernel* written to other-disk, 0 there already" "… and import"
[ -z "$(find "$work/disk" -name '.*.part')" ]
ok "… and nothing half-written is left"
mkdir -p "$work/other-disk/.99_killed.part"
run archive list other-disk
is "$status $(printf '%s\n' "$out" | wc -l)" "0 $whole" "what a killed program left is passed over"
finish
