#!/bin/sh
# pack.t: monkeys pack list, check and new.
. tests/cli/lib.sh
packs="c-cpu cuda cute-dsl gluon thunderkittens tilelang tlx triton"

run pack list --no-probe
for p in $packs; do
    like "$out" "*$p *" "pack list shows $p"
done
run pack check --no-probe
is $status 0 "every pack passes its own tests"
for p in $packs; do
    like "$out" "*$p * ok*" "$p passes"
done
like "$out" "*(shared rules) * ok*" "so do the shared rules"
run pack check --no-probe --json triton
like "$out" '{"id":"triton",*"ok":true,*"problems":[]}' "JSON: one object a pack"
run pack check --no-probe trtion
is $status 2 "an unknown pack exits 2"
like "$err" "*triton*" "… and names the nearest"

run pack new my-lang --in mine
is $status 0 "pack new makes a folder"
run pack check --packs mine my-lang
is $status 0 "which passes pack check"
like "$out" "*my-lang *ok *usable: checks*" "at the level of checks"
mkdir "$work/empty"
out=$(cd "$work" && env -i PATH="$PATH" MONKEYS_PACKS=empty:mine "$monkeys" pack list --no-probe)
like "$out" "*my-lang *triton *" "MONKEYS_PACKS is a list of folders with packs"
run pack new my-lang --in mine
is $status 2 "it does not write over a pack"
run pack new 'Bad Name' --in mine
is $status 2 "an id has small letters, digits and dashes"

# Each mistake is told with file, JSON pointer and remedy.
broken() { # CLAIM FILE OLD NEW PATTERN
    rm -rf "$work/mine"
    run pack new my-lang --in mine
    python3 - "$work/mine/my-lang/$2" "$3" "$4" <<'PY'
import sys
path, old, new = sys.argv[1:]
text = open(path).read()
assert old in text, (path, old)
open(path, "w").write(text.replace(old, new, 1))
PY
    run pack check --no-probe --packs mine my-lang
    is $status 1 "$1 is found"
    like "$out" "$5" "$1: $5"
}
broken "a wrong type" pack.json '"max_guide_tokens": ' '"max_guide_tokens": "x", "y": ' '*pack.json: /prompt/max_guide_tokens: *'
broken "an unknown field" pack.json '"display_name"' '"displayname"' '*pack.json: /displayname: *display_name*'
broken "a value that is no choice" pack.json '"default_dtype": "' '"default_dtype": "un' '*pack.json: /run/default_dtype: *fp32*'
broken "broken JSON" checks.json '{' '{,' '*checks.json:*'
broken "a bad pattern" checks.json '"pcre": "' '"pcre": "(' '*checks.json: /sets/*/pcre: *'
broken "an id that is not the folder's" pack.json '"id": "my-lang"' '"id": "other"' '*pack.json: /id: *'
broken "a good file that is bad" selftest/expect.json '"bad"' '"good_"' '*expect.json*'

# A pack that runs here must find its own seed correct.
rm -rf "$work/mine"
mkdir "$work/mine"
chmod 755 "$work" # candidates are another user
cp -R "$root/packs/c-cpu" "$work/mine"
printf '\ndef compile(request):\n    raise RuntimeError("no widget")\n' >>"$work/mine/c-cpu/adapter.py"
run pack check --packs mine c-cpu
is $status 1 "a broken adapter is found"
like "$out" "*mine/c-cpu: the seed * is infra on cpu: *RuntimeError: no widget (*mine/c-cpu/adapter.py, line *)*usable: run (*" \
    "… and named with its line; its probe works in a folder of the user's"

# pack check --verify: every seed, as a table.
# keep_seeds PACK NAME…: a copy of the pack with these seeds only.
keep_seeds() {
    rm -rf "$work/mine"
    mkdir "$work/mine"
    cp -R "$root/packs/$1" "$work/mine"
    python3 - "$work/mine/$1" "$@" <<'PY'
import json, os, shutil, sys
pack, keep = sys.argv[1], sys.argv[3:]
told = json.load(open(pack + "/pack.json"))
told["prompt"]["seed_order"] = keep
json.dump(told, open(pack + "/pack.json", "w"))
for name in os.listdir(pack + "/seeds"):
    if name not in keep:
        shutil.rmtree(pack + "/seeds/" + name)
PY
}
run pack check --no-probe --verify c-cpu quill --device cpu
is $status 0 "pack check --verify: the seeds of c-cpu and quill are correct"
for seed in 01_matmul 02_softmax 03_conv2d; do
    is "$(printf '%s\n' "$out" | grep -c "^$seed  *fp32  *correct  *E3 .*x  *-  *1\$")" 2 \
        "$seed has a row for each pack, with its speed-up and launches"
done
is "$(printf '%s\n' "$out" | grep -c '^smuggled  *fp32  *compile_error ')" 2 \
    "each pack refuses a kernel that is not of its language"
keep_seeds quill 02_softmax
cat >>"$work/mine/quill/adapter.py" <<'PY'


_translate = translate


def translate(program: str) -> Translated:
    """C is taken as it is, as if the recorder had made it."""
    if "void" not in program:
        return _translate(program)
    memory = quill.Memory("float32", (16, 256))
    return Translated(program, {"smuggled": {"x": memory, "y": memory, "n": quill.INT}})
PY
run pack check --no-probe --verify --packs mine quill --device cpu
like "$status $out" "1 *02_softmax *correct *E3 *smuggled *correct *E3 *common/smuggled/solution.py: in fp32 on cpu: a kernel that is not of the language must be a compile_error (docs/PACKS.md), but is correct*" \
    "a pack that compiles what its recorder made is found"
keep_seeds triton 01_scale_add_mish
rm "$work/mine/triton/adapter.py"
run pack check --no-probe --verify --packs mine triton
like "$status $out" "1 *mine/triton/adapter.py: missing; *docs/PACKS.md*" "a pack without an adapter is told so"
run pack check --no-probe --verify
is $status 2 "--verify needs a pack"
run pack check --no-probe --write c-cpu
like "$status $err" "2 *--write needs --verify*" "--write needs --verify"
run pack check --no-probe --verify c-cpu --precision fp32,fp31
like "$status $err" "2 *'fp31' is not one of fp32|tf32|fp16|bf16*" "a precision that there is not is refused"
run pack check --no-probe --verify c-cpu --device cuda:0
like "$status $out" "1 */c-cpu/pack.json: *does not run on cuda:0; use --device cpu*" \
    "a device that the pack does not support is named, with the remedy"

meta() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$work/mine/$1/meta.json" "$2"; }

# The verifier on another host. One worker answers what the rest needs: the seeds as they are,
# in two precisions, and one that is broken.
keep_seeds c-cpu 01_matmul 02_softmax
seeds=c-cpu/seeds
set -- pack check --no-probe --verify --no-timing --packs mine c-cpu --device cpu --verifier jobs=far
before=$(cat "$work/mine/$seeds/02_softmax/meta.json")
run "$@" --write
is $status 4 "answers from another host are missing at first"
like "$out$err" "*02_softmax *no answer yet*c-cpu * waiting *monkeys-worker --jobs far/jobs --out far/answers*" "… and the way to them is told"
is "$(cat "$work/mine/$seeds/02_softmax/meta.json")" "$before" "a missing answer changes nothing"
run "$@" --precision tf32
sed -i 's/expf(\(.*\)) *;/expf(\1) + 1.0f;/' "$work/mine/$seeds/02_softmax/solution.py"
! cmp -s "$work/mine/$seeds/02_softmax/solution.py" "$root/packs/$seeds/02_softmax/solution.py"
ok "a seed is broken"
run "$@"
(cd "$work" && umask 077 && "$root/monkeys-worker" ${MONKEYS_PYTHON:+--python "$MONKEYS_PYTHON"} --packs mine --jobs far/jobs --out far/answers 2>"$work/.err")
run "$@"
is $status 1 "a seed that is not correct exits 1"
like "$out" "*01_matmul  *correct *02_softmax  *wrong_values *mine/c-cpu/seeds/02_softmax/solution.py: in fp32 on cpu: wrong_values: *" \
    "… and is named"
is "$(cat "$work/mine/$seeds/02_softmax/meta.json")" "$before" "nothing is written without --write"
today=$(date -u +%F)
run "$@" --write
is "$(meta $seeds/01_matmul verified_on)" "correct at E3 in fp32 on the CPU ($(uname -m)), $today" "--write says what is verified, where and when"
like "$(meta $seeds/02_softmax verified) $(meta $seeds/02_softmax why_not)" \
    "False in fp32 on the CPU ($(uname -m)), $today: wrong_values: *" "… and why a seed is not"
run pack check --no-probe --packs mine c-cpu
is $status 0 "what is written is a valid pack"
cp "$root/packs/$seeds/02_softmax/solution.py" "$work/mine/$seeds/02_softmax/"
run "$@" --json --precision tf32,fp32 --precision fp32
is "$(printf '%s\n' "$out" | grep -o '"verdict":"correct","evidence":"E3"' | wc -l)" 4 \
    "JSON: a verdict for each seed and precision, each precision once"
run "$@" --write
is $status 0 "the second call reads the answers"
like "$(meta $seeds/02_softmax verified_on)" "correct at E3 in fp32 on the CPU *" "… and writes them"

# What a GPU answers: the record of a judge there.
keep_seeds cuda 01_matmul 06_cumsum
set -- pack check --no-probe --verify --write --packs mine cuda --device cuda:0 --precision bf16,fp32 --verifier jobs=gpu
run "$@"
is $status 4 "jobs for a GPU are written on a host without one"
answer='"verdict":"correct","stage":"done","evidence":"E3","compiled":true,"kernelbench_pass":true,"feedback":"","trials":[],"build":"compiled","launches":{"count":2,"names":["k"]},"times_ms":{"compile":1500},"environment":{"device":"cuda:0","gpu":"NVIDIA H200"}'
timing='"timing":{"ms":{"median":0.5},"reference_ms":{"median":1.0},"compile_ms":{"median":0.75}}'
python3 -B "$root/tests/cli/run/answers.py" judge "$work/gpu" 01_matmul/task answer "{$answer,$timing}"
python3 -B "$root/tests/cli/run/answers.py" judge "$work/gpu" 06_cumsum/task answer "{$answer}"
python3 -B "$root/tests/cli/run/answers.py" judge "$work/gpu" smuggled/task answer '{"verdict":"compile_error","stage":"compile","feedback":"no"}'
run "$@"
like "$status $out" "0 *01_matmul  bf16  *correct  *E3  *1.50 s  2.00x  *1.50x  *2*" \
    "the table has build time, speed-ups and launches"
like "$out" "*
06_cumsum  *fp32  *correct  *E3  *1.50 s  *-  *-  *2*" "… and no speed-up where nothing was timed"
is "$(meta cuda/seeds/01_matmul verified_on)" "correct at E3 in fp32 and bf16 on NVIDIA H200, $today" "meta.json names the GPU and each precision"

keep_seeds c-cpu 02_softmax
rm "$work/mine/$seeds/02_softmax/task.py"
run pack check --no-probe --verify --packs mine c-cpu
like "$status $out" "1 *mine/c-cpu/seeds/02_softmax/task.py: /: missing; *" "a seed without a task is named"
finish
