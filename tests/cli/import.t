#!/bin/sh
# import.t: rows of KernelBook become tasks, or a line that says why not.
. tests/cli/lib.sh

# row ENTRY FORWARD [COLUMN…]: one row; FORWARD is the body of forward, in JSON.
row() {
    printf '{"entry_point": "%s", "uuid": %d, "licenses": ["MIT"], "repo_name": "a/b", "sha": "c0ffee",' \
        "$1" "$n"
    printf ' "repo_link": "https://example.org/a/b", "triton_code": "x", "python_code": "'
    printf 'import torch\\nimport torch.nn as nn\\n\\n\\nclass %s(nn.Module):\\n\\n' "$1"
    printf '    def __init__(self, width):\\n        super(%s, self).__init__()\\n' "$1"
    printf '        self.w = nn.Parameter(torch.rand(width))\\n\\n'
    printf '    def forward(self, x):\\n        return %s\\n\\n\\n' "$2"
    printf 'def get_inputs():\\n    return [torch.rand([4, 4])]\\n\\n\\n'
    printf 'def get_init_inputs():\\n    return [[], {'"'width'"': 4}]\\n"}'
    n=$((n + 1))
}

n=1
{
    row Scale "x * self.w"
    echo
    row Again "x * self.w"
    echo
    row Noise "x * self.w + torch.rand(4)"
    echo
    row Pair "x + self.w, x"
    echo
    printf '{"entry_point": "Lost"}\n'
} >"$work/rows.jsonl"

run tasks import-kernelbook rows.jsonl -o kb --no-verify
is "$status" 0 "JSON Lines are converted"
like "$out" "5 rows: 2 kept*1 fields*1 random*1 duplicate*" "… and counted by reason"
like "$(cat "$work/kb/1_Scale.py")" "*class Model(nn.Module)*super(Model, self)*return ?4?*" \
    "a task is a KernelBench file"
like "$(tr -d ' \n' <"$work/kb/1_Scale.json")" \
    '{"source":{*"row":1,"uuid":1,*"repo":"a/b","sha":"c0ffee","link":"https://example.org/a/b","licenses":?"MIT"?}}' \
    "its sidecar says where it is from, and the licence"
like "$(sed -n 1p "$work/kb/manifest.jsonl")" '{"row":1,"uuid":1,*"kept":true,*"task":"kb/1_Scale"}' \
    "the manifest has a line for each row"
like "$(sed -n 2p "$work/kb/manifest.jsonl")" '*"kept":false,"reason":"duplicate","detail":"row 1"}' \
    "… in order, with the reason"
run tasks list kb
like "$out" "kb/1_Scale *kb/4_Pair *" "the folder is a collection of tasks"

cp -R "$work/kb" "$work/whole"
head -n 1 "$work/whole/manifest.jsonl" >"$work/kb/manifest.jsonl"
printf '{"row":2,"uu' >>"$work/kb/manifest.jsonl"
rm "$work/kb/4_Pair.py"
run tasks import-kernelbook rows.jsonl -o kb --no-verify --limit 3
like "$out" "3 rows: 1 kept*" "an import that was stopped continues, up to --limit"
run tasks import-kernelbook rows.jsonl -o kb --no-verify --json
like "$out" '{"row":4,*{"row":5,*' "--json prints the rows that are new"
[ "$(diff -r "$work/kb" "$work/whole")" = "" ]
ok "… and ends with the same files"
sed 's/self.w/self.w + 1/' "$work/rows.jsonl" >"$work/other.jsonl"
run tasks import-kernelbook other.jsonl -o kb --no-verify
like "$status $err" "2 *kb/manifest.jsonl: row 1 of other.jsonl is not the one imported before*" \
    "a folder belongs to one input"
run tasks import-kernelbook rows.jsonl -o kb
like "$status $err" "2 *kb/import.json: this folder was begun with other options*" \
    "… and to one set of options"

{
    echo '['
    sed -n 1p "$work/rows.jsonl"
    echo ','
    sed -n 3,4p "$work/rows.jsonl" | paste -sd, | head -c 900
} >"$work/cut.json"
run tasks import-kernelbook cut.json -o cut --no-verify
like "$status $err" "2 *cut.json:4: the file ends inside row *" "a file that is cut short names the line"
like "$(cat "$work/cut/manifest.jsonl")" '{"row":1,*"kept":true*' "… and what came before it is there"
run tasks list cut
is "$status" 0 "… and valid"

mkdir "$work/folder"
for f in 10_Ten 2_Two; do
    printf 'import torch\nclass %s(torch.nn.Module):\n    def forward(self, x):\n        return x * %s\n' \
        "${f#*_}" "${f%_*}" >"$work/folder/$f.py"
    printf 'def get_inputs():\n    return [torch.rand([4])]\ndef get_init_inputs():\n    return [[], {}]\n' \
        >>"$work/folder/$f.py"
done
run tasks import-kernelbook folder -o fromdir --no-verify --json
like "$out" '{"row":1,"entry_point":"Two",*"task":"fromdir/2_Two"}
{"row":2,"entry_point":"Ten",*' "a folder of programs is read by number"

# The verifier: a task that works, one that does not, at a size of real work. The first
# program works at any size, the second only at the one that it came with.
n=1
{
    row Wide "x * self.w"
    echo
    row Four "x.view(2, 8) * self.w.sum()"
    echo
    row Constant "x * 0 + self.w"
    echo
    row Writer "x * self.w + open('$work/planted', 'w').write('0')"
    echo
    row Talker "x * self.w + __import__('socket').socket().family"
} >"$work/three.jsonl"
run tasks import-kernelbook three.jsonl -o checked --scale --device cpu --children 1 --json
is "$status" 0 "rows are checked as 'tasks check' does"
like "$out" '*"kept":true,*"scale":{"size":1024,"tried":??}}
*"kept":true,*"scale":{"size":4,"tried":?{"size":1024,*{"size":512,*{"size":256,*
*"kept":false,"reason":"unusable","detail":"does not depend on its inputs*
*"kept":false,"reason":"unusable","detail":"the reference raises FileNotFoundError: *
*"kept":false,"reason":"unusable","detail":"the reference raises PermissionError: *' \
    "… at the largest size that works, in a box without files and network"
[ ! -e "$work/planted" ]
ok "nothing that a row does is left behind"
like "$(cat "$work/checked/1_Wide.py")" "*torch.rand(?1024, 1024?)*return ?1024?*" "the task has that size"

# The verifier may have failed at a row: the same command tries that one again, and no other.
cp -r "$work/checked" "$work/before"
/usr/bin/python3 - "$work/checked" <<'END'
import json, os, sys
rows = [json.loads(l) for l in open(sys.argv[1] + "/manifest.jsonl")]
row = next(r for r in rows if r["kept"])
stem = sys.argv[1] + "/" + row.pop("task").partition("/")[2]
row.pop("scale", None)
row.update(kept=False, reason="unchecked", detail="the worker was killed")
os.remove(stem + ".py"); os.remove(stem + ".json")
with open(sys.argv[1] + "/manifest.jsonl", "w") as f:
    f.writelines(json.dumps(r, separators=(",", ":"), ensure_ascii=False) + "\n" for r in rows)
END
retry() { run tasks import-kernelbook three.jsonl -o checked --scale --device cpu --verifier jobs=retry; }
retry
like "$status $err" "4 *1 job waits for answers*" "a row that could not be checked is tried again, and no other"
python3 -B "$root/tests/cli/run/answers.py" judge "$work/retry" checked/1_Wide answer '{"usable":true,"reasons":[]}'
retry
is $status 0 "… with another answer"
diff -r "$work/before" "$work/checked"
ok "… and the folder ends as if they had not failed"
run tasks import-kernelbook rows.jsonl -o elsewhere --verifier jobs=jobs --device cpu
like "$status $err" "4 *2 jobs wait for answers*run this command again" "another host can check them"
run tasks import-kernelbook none.jsonl -o no --no-verify
is "$status" 2 "a file that is not there"
run tasks import-kernelbook rows.jsonl -o no --no-verify --scale
is "$status" 2 "--scale needs the verifier"
finish
