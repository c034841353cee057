#!/bin/sh
# export.t: monkeys export: records of a run that was verified, what is left out, what is refused.
. tests/cli/lib.sh
. tests/cli/run/lib.sh
. tests/cli/run/elsewhere.sh

/usr/bin/python3 - "$work" <<'END'
import base64, sys
with open(sys.argv[1] + "/v.tiktoken", "w") as f:
    f.writelines(f"{base64.b64encode(bytes([b])).decode()} {b}\n" for b in range(256))
END
mkdir "$work/bench" "$work/planted"
cat >"$work/bench/1_other.py" <<'END'
def nothing_like_the_tasks(of, this, run): raise ValueError("%s %s %s" % (of, this, run))
END
cp "$starter/04_softmax.py" "$work/planted/7_Softmax.py"
cat >"$work/four/starter/01_swish.json" <<'END'
{"source": {"dataset": "KernelBook", "row": 17, "repo": "owner/name", "licenses": ["MIT", "Apache-2.0"]}}
END
elsewhere ran --dsl c-cpu --device cpu --no-timing --cassette real.jsonl $real
is $status 0 "a run"
field() { /usr/bin/python3 -c "
import json, sys
rows = [json.loads(l) for l in open('$work/$1')]
print($2)"; }

# ---- sft ----
run export sft ran -o sft --against bench --test 0
is $status 0 "records of a run are written"
like "$out" "tasks:    4, 1 of them not solved, *exported: 3 tasks, 0 of them for testing*records:  3 plan, 3 code*" \
    "… two for each solved task, and counted"
is "$(ls "$work/sft" | tr '\n' ' ')" "README.md records.jsonl train.jsonl " "… in three files"
is "$(field sft/records.jsonl 'list(rows[0])')" "['id', 'phase', 'problem_id', 'problem_hash', 'source_dataset', 'licence', \
'source', 'attempt', 'iteration', 'retrieval_mode', 'example_ids', 'model', 'backfilled', 'rules', 'system', 'user', 'assistant', \
'n_tokens_prompt', 'n_tokens_completion', 'split']" "a record has these fields"
is "$(field sft/records.jsonl '[(r["phase"], r["problem_id"], r["attempt"]) for r in rows]')" \
    "[('plan', 'starter/01_swish', 1), ('code', 'starter/01_swish', 1), ('plan', 'starter/04_softmax', 2), \
('code', 'starter/04_softmax', 2), ('plan', 'starter/05_logsumexp', 2), ('code', 'starter/05_logsumexp', 2)]" \
    "the records are of the attempts that solved the tasks"
is "$(field sft/records.jsonl '[(r["source_dataset"], r["licence"], r["source"][:24]) for r in rows[1:3]]')" \
    "[('KernelBook', 'MIT, Apache-2.0', '{\"dataset\":\"KernelBook\",'), ('starter', 'unknown', '')]" \
    "licence and source are those of the sidecar"
for stage in plan code; do
    run show ran 04 2 --prompt $stage
    /usr/bin/python3 -c "
import json
rows = [json.loads(l) for l in open('$work/sft/records.jsonl')]
r = next(r for r in rows if r['problem_id'] == 'starter/04_softmax' and r['phase'] == '$stage')
shown = open('$work/.out', newline='').read()
assert shown.startswith('[system]\n' + r['system']), 'system'
assert '[user]\n' + r['user'] in shown, 'user'"
    ok "the prompt of the stage $stage is what was sent"
done
is "$(field sft/records.jsonl '[r["assistant"] for r in rows][::2]')" "['Plan 1 for starter/01_swish.', \
'Plan 2 for starter/04_softmax.', 'Plan 2 for starter/05_logsumexp.']" "plans are the answers to the first"
is "$(field sft/records.jsonl 'rows[3]["assistant"] == "```python\n" + open("tests/verify/c-cpu/04_softmax.py").read() + "```"')" \
    True "… code, in a fence, to the second"
is "$(field sft/train.jsonl '[[m["role"] for m in r["messages"]] for r in rows[:1]], [r["id"][:5] for r in rows[:2]], rows[0]["split"]')" \
    "[['system', 'user', 'assistant']] ['plan-', 'code-'] train" "messages, with the origin of each record"
is "$(field sft/train.jsonl 'all(r[k] is None for r in rows for k in ("n_tokens_prompt", "n_tokens_completion"))')" True \
    "tokens are not counted without a vocabulary"
sum=$(sha256sum <"$work/sft/train.jsonl" | cut -d' ' -f1)
like "$(cat "$work/sft/README.md")" "---*split: train*path: train.jsonl*| 4 | in the runs |*| 3 | plan |*| MIT, Apache-2.0 | 2 |*train.jsonl\` | 6 | * | \`$sum\` |*" \
    "the card has counts, licences and hashes"
run export sft ran ran -o twice --against bench --test 0 --format prompt-completion --vocab v.tiktoken \
    --max-tokens 1000000 --zstd --json
is $status 0 "two runs, in the other format"
like "$out" '{"tasks":8,"unsolved":2,"retired":0,"duplicates":3,*"problems":3,*"file":"train.jsonl.zst","records":6,*' \
    "… each task once"
zstd -dq "$work/twice/train.jsonl.zst" -o "$work/unpacked.jsonl"
is "$(field unpacked.jsonl '[m["role"] for m in rows[0]["prompt"] + rows[0]["completion"]], len(rows[0]["completion"])')" \
    "['system', 'user', 'assistant'] 1" "prompt and completion, compressed"
is "$(field unpacked.jsonl 'all(r["n_tokens_prompt"] == sum(len(m["role"]) + 1 + len(m["content"].encode()) + 3 for m in r["prompt"]) + 11 for r in rows)')" \
    True "tokens are those of the rendered conversation"

# ---- parts and choices ----
most=$(field unpacked.jsonl 'sorted(r["n_tokens_prompt"] + r["n_tokens_completion"] for r in rows)[3]')
run export sft ran -o short --against bench --test 0 --vocab v.tiktoken --max-tokens "$most"
like "$out" "*left out: 2 too long, *" "records that are too long are left out and counted"
is "$(field short/train.jsonl 'max(r["n_tokens_prompt"] + r["n_tokens_completion"] for r in rows), len(rows)')" "$most 4" "… whole"
run export sft ran -o none --against bench --vocab v.tiktoken --max-tokens 10
like "$status $err" "2 *no record can be made: of 4 tasks, 1 are not solved, *of 6 records, 6 are too long*" "nothing to write says why"
for n in 1 2; do
    run export sft ran -o n$n --against bench --test 0 --problems $n --seed 3
    field n$n/records.jsonl 'sorted({r["problem_id"] for r in rows})' >"$work/chosen$n"
done
is "$(/usr/bin/python3 -c "
a, b = (set(eval(open('$work/chosen%d' % n).read())) for n in (1, 2)); print(len(a), len(b), a < b)")" "1 2 True" \
    "--problems chooses, a smaller choice from a larger one"
run export sft ran -o n4 --against bench --test 0 --problems 4
like "$status $err" "2 *--problems 4: only 3 tasks are there*" "… and does not give fewer"
run export sft ran -o half --against bench --test 50 --seed 2
is "$(field half/records.jsonl 'all(len({q["split"] for q in rows if q["problem_hash"] == r["problem_hash"]}) == 1 for r in rows)')" \
    True "records of a task are in one part"
is "$(cat "$work"/half/t*.jsonl | wc -l) $(field half/records.jsonl 'sorted({r["split"] for r in rows})')" "6 ['test', 'train']" "… and some for testing"
run export sft ran -o again --against bench --test 50 --seed 2
diff -r "$work/half" "$work/again"
ok "the same call gives the same bytes"

# ---- a benchmark ----
run export sft ran -o bad --against bench --against planted
is $status 2 "a task of the benchmark is refused"
like "$err" "*starter/04_softmax: is 100.0 % similar to planted/7_Softmax.py*nothing was written*--drop-overlap*" "… and the message says why"
is "$(cd "$work" && ls | grep -c '^bad')" 0 "… and nothing is left behind"
forward() { # TEXT: a model that is too long to be similar; its body is this
    printf 'class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n\n'
    printf '    def forward(self, x: torch.Tensor) -> torch.Tensor:\n        %s\n' "$1"
    seq 400 | sed 's/.*/# & & & & & & & & &/'
}
forward 'return x' >"$work/planted/6_Same.py"
forward "$(sed -n '/return torch.soft/,/^batch_size/p' "$starter/04_softmax.py" | sed '1s/^ *//')" >"$work/planted/7_Softmax.py"
run export sft ran -o bad --against planted
like "$status $err" "2 *starter/04_softmax: has 13 tokens in a row of planted/7_Softmax.py: \"*" "… a part of one, too"
run export sft ran -o clean --against planted --drop-overlap --test 0
is "$status $(field clean/records.jsonl 'any("softmax" in r["problem_id"] for r in rows)')" "0 False" "--drop-overlap leaves it out"
run export sft ran -o bad
like "$status $err" "2 *--against DIR is missing*" "a benchmark is required"
run export sft ran -o bad --against bench --max-tokens 5
like "$status $err" "2 *--max-tokens needs --vocab*" "a limit needs a vocabulary"
run export sft ran -o sft --against bench
like "$status $err" "2 *sft: exists already*" "a folder that exists is not replaced"
run export sft bench -o bad --against bench
is $status 2 "a folder that is no run is refused"

# ---- failures and fixes ----
run export refine ran -o fixes --against bench --test 0
like "$status $out" "0 *exported: 1 tasks*records:  1 fix*" "failures with code before a solution"
is "$(field fixes/train.jsonl '[m["role"] for m in rows[0]["prompt"]], rows[0]["failed_verdict"], rows[0]["attempt"]')" \
    "['system', 'user', 'assistant', 'user'] wrong_values 1" "… are prompts: question, program, feedback"
run show ran 04 1 --feedback
is "$(field fixes/records.jsonl 'rows[0]["feedback"].strip()')" "$out" "… as the verifier gave it"
is "$(field fixes/train.jsonl 'rows[0]["completion"][0]["content"] == "```python\n" + open("tests/verify/c-cpu/04_softmax.py").read() + "```"')" \
    True "… and the kernel is the completion"
run export refine ran -o bad --against planted
is $status 2 "the benchmark is kept out of these, too"

# ---- plans that are missing ----
$answers cassette evolve starter/04_softmax=r >"$work/evolve.jsonl"
elsewhere evolved --method evolve --dsl c-cpu --device cpu --no-timing --cassette evolve.jsonl \
    --tasks "$starter/04_softmax.py" --attempts 1
is $status 0 "a run in one stage"
run export sft evolved -o one --against bench --test 0
like "$status $out" "0 *1 without a plan*records:  1 code*" "… has no plans"
cat >"$work/model" <<'END'
#!/bin/sh
cat >>request
echo '{"text": "<think>How?</think>Row by row."}'
END
chmod +x "$work/model"
plans="--against bench --test 0 --backfill-plans --plans plans --model two --command ./model --price 1,1"
run export sft evolved -o two $plans --budget-usd 0.000001
like "$status $err" "3 *no room for another call; plans keeps the plans, and nothing was written*" "a cap holds for plans that are asked for"
[ ! -e "$work/two" ] && [ ! -e "$work/request" ]
ok "… nothing is asked or written"
for n in 1 2; do
    rm -rf "$work/two"
    run export sft evolved -o two $plans --budget-usd 5
    like "$status $out" "0 *1 with a plan that was asked for now*records:  1 plan, 1 code*" "--backfill-plans asks a model for them ($n)"
done
is "$(grep -o '"stage":"backfill"' "$work/request" | wc -l)" 1 "… once"
is "$(field two/records.jsonl '[(r["phase"], r["backfilled"], r["model"]) for r in rows], rows[0]["assistant"]')" \
    "[('plan', True, 'two'), ('code', True, '')] Row by row." "… which the records and their models say"
like "$(cat "$work/two/README.md")" "*| 1 | of these solved in one stage: a model was asked for the plan afterwards*" "… and the card"
run show evolved 04 1 --prompt evolve
is "$(field two/records.jsonl 'all(open("'"$work"'/.out").read().startswith("[system]\n" + r["system"]) for r in rows), "Row by row." in rows[1]["user"], rows[1]["assistant"][:9]')" \
    'True True ```python' "prompts start as the run's did, and the code's has the plan"

# ---- kernels ----
run export kernels ran ran -o kernels
is "$status $out" "0 3 kernels written to kernels, 3 for a task that has one, 0 retired and left out" "kernels to read"
is "$(LC_ALL=C ls "$work/kernels/starter_04_softmax" | tr '\n' ' ')" "meta.json plan.md solution.py solution_ported.py task.py verdict.json " "… with all that belongs to them"
like "$(cat "$work/kernels/README.md")" "*| ?starter/04_softmax?(starter_04_softmax) | ?task?(starter_04_softmax/task.py), ?plan?(starter_04_softmax/plan.md), ?kernel?(*) | correct, E3 |*" \
    "… and an index"
run archive list kernels
is "$status $(printf '%s\n' "$out" | wc -l)" "0 3" "the folder is an archive"
finish
