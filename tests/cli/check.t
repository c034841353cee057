#!/bin/sh
# check.t: monkeys check on good, bad and unreadable files.
. tests/cli/lib.sh
good=$root/packs/triton/selftest/good/softmax_rows.py

run check --dsl triton "$good"
is $status 0 "a good kernel is accepted"
like "$out" "*: accepted*" "… and says so"
run check --dsl triton --json "$good"
like "$out" '{"file":"*","accepted":true,"findings":[]}' "JSON: one object, the documented fields"

sed 's/    def forward(self.*:$/&\n        return torch.softmax(x, -1)/' "$good" >"$work/hack.py"
run check --dsl triton hack.py
is $status 1 "a torch operator in forward is rejected"
like "$out" "hack.py:*:*: error: *\[torch-*" "with place, message and rule"
run check --dsl triton --json hack.py "$good"
is "$(printf '%s\n' "$out" | wc -l)" 2 "JSON: a line for each file, in order"
like "$out" '{"file":"hack.py","accepted":false,*"rule":"torch-*"severity":"error","line":*,"column":*,"message":"*,"excerpt":"*' "a finding has its six fields"
run check --dsl triton "$good" missing.py hack.py
is $status 2 "an unreadable file exits 2"
like "$err" "*missing.py: cannot open: No such file*" "… and is named"
like "$out" "*accepted*hack.py: rejected*" "the others are still looked at"
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
