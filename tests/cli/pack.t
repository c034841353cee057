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
cp -R "$root/packs/triton" "$work/mine"
printf '\ndef interpreter(message, region):\n    raise RuntimeError("no widget")\n' >>"$work/mine/triton/adapter.py"
run pack check --packs mine triton
is $status 1 "a broken adapter is found"
like "$out" "*mine/triton: the seed * is infra on cpu: the pack is broken: *mine/triton/adapter.py, line *, in interpreter: RuntimeError: no widget*" \
    "… and named with its line"
finish
