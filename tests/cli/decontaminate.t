#!/bin/sh
# decontaminate.t: monkeys decontaminate: folders, rows, the manifest, and what is refused.
. tests/cli/lib.sh

mkdir -p "$work/bench/level1" "$work/in/sub"
cat >"$work/bench/level1/1_relu.py" <<'END'
class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)
END
sed 's/relu/gelu/' "$work/bench/level1/1_relu.py" >"$work/in/a.py"
echo 'def f(): pass' >"$work/in/sub/b.py"
echo 'a b c' >"$work/in/notes.txt"
printf 'x = 1\nclass Model(nn.Module):\n    def forward(self, x): return (((((((((((((((x)))))))))))))))\n' >"$work/in/c.py"

run decontaminate --against bench --tokens python in -o out
is $status 0 "a folder is checked"
like "$out" "*against:  1 files*rows:     3 *similar:  1 *n-grams:  2 *both:     1*kept:     1*" "sums are printed"
is "$(cd "$work/out" && find . -type f | sort | tr '\n' ' ')" "./manifest.jsonl ./sub/b.py " "what is kept is copied, with a manifest"
like "$(cat "$work/out/manifest.jsonl")" '{"file":"a.py","kept":false,"fuzzy":{"partner":"bench/level1/1_relu.py","ratio":9*,"lcs":*},"ngram":{"partner":"bench/level1/1_relu.py","at":0,"text":"class Model ( nn . Module ) : def forward ( self ,"}}*{"file":"c.py","kept":false,"ngram":{*"at":3,*}*{"file":"sub/b.py","kept":true}' \
    "the manifest names the task and the tokens"
run decontaminate --against bench --tokens python in -o out
is $status 2 "a folder that exists is not replaced"
like "$err" "*out: exists already; remove it*" "… and named"
run decontaminate --against bench --fuzzy-only --json in -o other
is "$(printf '%s\n' "$out" | grep -c '"kept":true')" 2 "--fuzzy-only; --json prints the manifest"
cmp -s "$work/.out" "$work/other/manifest.jsonl"
ok "… the same as in the folder"

cat >"$work/rows.jsonl" <<'END'
{"id": 1, "python_code": "class Model(nn.Module):\n    def forward(self, x):\n        return torch.relu(x)\n"}

{"python_code": "def f(): pass", "id": 2}
{"id": 3, "python_code": "def f(): pass"}
END
run decontaminate --against bench --tokens words rows.jsonl -o rows.out
is $status 0 "rows are checked"
is "$(cat "$work/rows.out")" '{"python_code": "def f(): pass", "id": 2}
{"id": 3, "python_code": "def f(): pass"}' "rows are kept byte for byte, duplicates too"
like "$(cat "$work/rows.out.manifest.jsonl")" '{"file":"rows.jsonl","line":1,"kept":false,"fuzzy":{*"ratio":100.0,*}*{"file":"rows.jsonl","line":3,"kept":true}*{"file":"rows.jsonl","line":4,"kept":true}' "the manifest has the lines"
like "$out" "*rows:     3 (1 of them the same as an earlier one)*" "duplicates are counted"
for threads in 1 3; do
    run decontaminate --against bench --tokens words --threads $threads --json rows.jsonl -o t
    printf '%s\n' "$out" >"$work/t$threads"
done
cmp -s "$work/t1" "$work/t3"
ok "threads change nothing"

printf '{"python_code": "def f(): pass"}\n{"code": 1}\n' >"$work/bad.jsonl"
run decontaminate --against bench --tokens words bad.jsonl -o bad.out
is $status 2 "a row without text is refused"
like "$err" '*bad.jsonl:2: no string "python_code"; name the member*' "… by its line"
is "$(cd "$work" && ls | grep -c '^bad.out')" 0 "… and nothing is left behind"
run decontaminate --against bench --tokens words in/notes.txt -o bad.out
is $status 2 "a file that is not JSONL is refused"
run decontaminate --against in/sub/none --tokens words in -o new
is $status 2 "a benchmark that does not exist is refused"
mkdir "$work/empty"
run decontaminate --against empty --tokens words in -o new
like "$err" "*empty: no .py file below it*" "… and one without a task"
run decontaminate --against bench in -o new
is $status 2 "Qwen tokens need a vocabulary"
like "$err" "*--vocab FILE is missing*--tokens python*" "… and the message says what else there is"
run decontaminate --tokens words in -o new
like "$err" "*--against DIR is missing*" "a benchmark is required"
finish
