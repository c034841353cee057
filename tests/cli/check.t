#!/bin/sh
# check.t: monkeys check on good, bad and unreadable files.
. tests/cli/lib.sh
good=$root/packs/triton/selftest/good/softmax_rows.py

run check --dsl triton "$good"
is $status 0 "a good kernel is accepted"
like "$out" "*: accepted*" "… and says so"
run check --dsl triton --json "$good"
like "$out" '{"file":"*","accepted":true,"findings":[]}' "JSON: one object, the documented fields"

cat >"$work/torch.py" <<'END'
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1)  # not @triton.jit
END
run check --dsl triton torch.py
is $status 1 "a file without a kernel is rejected"
like "$out" "*torch.py:*: error: There is no Triton kernel.*\[triton-kernel\]*" "with message and rule"
run check --dsl triton --json torch.py "$good"
is "$(printf '%s\n' "$out" | wc -l)" 2 "JSON: a line for each file, in order"
like "$out" '{"file":"torch.py","accepted":false,*"rule":"triton-kernel","severity":"error","line":0,"column":0,"message":"*,"excerpt":""*' "a finding has its six fields"
run check --dsl triton "$good" missing.py torch.py
is $status 2 "an unreadable file exits 2"
like "$err" "*missing.py: cannot open: No such file*" "… and is named"
like "$out" "*accepted*torch.py: rejected*" "the others are still looked at"
sed 's/    def forward(self.*:$/&\n        if not x.is_cuda:\n            return torch.softmax(x, -1)/' "$good" >"$work/fallback.py"
run check --dsl triton fallback.py
is $status 0 "torch beside a kernel is left to the verifier"
run check --dsl triton --rules paper --json fallback.py
is $status 1 "not by the paper's rules"
like "$out" '*"rule":"paper-ops","severity":"error","line":[1-9]*,"column":[1-9]*,"message":"*,"excerpt":"*torch.softmax*' "which name line, column and text"
mkdir "$work/harmless"
python3 "$root/tests/verify/patches.py" "$work/harmless" 'harmless_*' 'style_*' >"$work/.list"
for kind in honest good triton; do
    for file in "$root/tests/verify/$kind"/*.py "$root/packs/triton/seeds"/*/solution.py "$work/harmless"/*.py; do
        case $file in */honest/c_*) ;; *) printf '%s\n' "$file" ;; esac
    done
done | sort -u >"$work/honest"
run check --dsl triton $(cat "$work/honest")
is "$status $(printf '%s\n' "$out" | grep -c ': accepted$')" "0 $(wc -l <"$work/honest")" "every honest Triton kernel of the tests is accepted"
run check --dsl gluon "$root/tests/verify/gluon"/*.py
is $status 0 "… and every one in Gluon"
mkdir "$work/c"
python3 "$root/tests/verify/patches.py" "$work/c" 'c_*' >"$work/.list"
run check --dsl c-cpu "$root/tests/verify/c-cpu"/*.py "$root/tests/verify/honest"/c_*.py "$work/c"/*.py
is $status 0 "… and in C"
run check --dsl triton "$work"
is $status 2 "a folder is no file"
run check --dsl tritn x.py
is $status 2 "an unknown pack exits 2"
like "$err" "*triton*" "… and names the nearest"

# What comes from outside may be anything: a finding or exit 2, and soon.
# Time is the processor's: whatever else runs here does not count.
used() { # milliseconds of all children so far, in $ms
    times >"$work/.times"
    ms=$(tail -n 1 "$work/.times" | tr ms '  ' | awk '{ printf "%d", 1000 * (60 * ($1 + $3) + $2 + $4) }')
}
odd() { # CLAIM STATUS PATTERN
    used
    start=$ms
    run check --dsl triton --json odd.py
    used
    took=$((ms - start))
    is $status "$2" "$1: status $2"
    like "$out" "$3" "$1: $3"
    [ $took -lt ${ODD_MS:-1000} ]
    ok "$1: within a second ($took ms)"
}
head -c 5000000 /dev/zero | tr '\0' a >"$work/odd.py"
odd "5 MB of one line" 1 '*"source-too-large"*'
head -c 1000000 /dev/zero | tr '\0' '(' >"$work/odd.py"
odd "a million brackets" 1 '*"source-syntax"*'
(head -c 500000 /dev/zero | tr '\0' a; printf '.a(%.0s' $(seq 1 100000)) >"$work/odd.py"
odd "100,000 calls left open" 1 '*"source-syntax"*'
for i in $(seq 1 40000); do echo "def f$i(): return f$((i - 1))(f$((i + 1)))"; done >"$work/odd.py"
odd "40,000 functions that call each other" 1 '*'
printf 'x = 1\0\n' >"$work/odd.py"
odd "a NUL byte" 1 '*"source-nul"*'
printf 'x = "\377"\n' >"$work/odd.py"
odd "invalid UTF-8" 1 '*"source-encoding"*'
printf '# coding: latin-1\nx = 1\n' >"$work/odd.py"
odd "another encoding" 1 '*"source-encoding"*'
printf 'x = """abc\n' >"$work/odd.py"
odd "an unterminated string" 1 '*"source-syntax"*'
printf 'if x:\n\ty = 1\n        z = 2\n  w = 3\n' >"$work/odd.py"
odd "impossible indentation" 1 '*"source-syntax"*'
: >"$work/odd.py"
odd "an empty file" 1 '*"accepted":false*'
sed 's/$/\r/' "$good" >"$work/odd.py"
odd "CRLF line ends" 0 '*"accepted":true*'
unexpand --first-only -t 4 "$good" >"$work/odd.py"
odd "tabs" 0 '*"accepted":true*'

run check --dsl triton --rules paper "$good"
is $status 0 "the literal rules know a plain kernel"
sed 's/    def forward(self.*:$/&\n        """Forward pass."""/' "$good" >"$work/doc.py"
run check --dsl triton --rules paper doc.py
is $status 1 "they stumble over a docstring"
run check --dsl triton doc.py
is $status 0 "which the default rules do not"
finish
