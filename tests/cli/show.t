#!/bin/sh
# show.t: monkeys show: what a run stored, for people, for pipes and as JSON. What
# the model wrote is hostile to terminals.
. tests/cli/lib.sh
cd "$root" || exit 1
export PYTHONDONTWRITEBYTECODE=1
answers="python3 $root/tests/cli/run/answers.py"
mkdir -p "$work/tasks/starter"
cp tasks/starter/01_swish.py tasks/starter/04_softmax.py tasks/starter/22_mse_loss.py \
    "$work/tasks/starter"
$answers cassette monkeys starter/01_swish=sh starter/04_softmax=nwr starter/22_mse_loss=swn \
    >"$work/tape.jsonl"
run run --dsl c-cpu --device cpu --tasks tasks/starter --force --no-timing --attempts 3 \
    --cassette tape.jsonl --out ran
is $status 0 "a run with hostile replies ends"

# field EXPRESSION: of the JSON object that was printed, as `o`.
field() { python3 -c "import json; o = json.load(open('$work/.out')); print($1)"; }
# on_terminal ARGS…: what the program writes to a terminal, in $out.
on_terminal() {
    (cd "$work" && timeout 300 python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' \
        "$monkeys" "$@") </dev/null | tr -d '\r' >"$work/.out"
    out=$(cat "$work/.out")
}

# ---- a task ----
run show ran starter/22_mse_loss
is $status 0 "a task can be shown"
like "$out" "# starter/22_mse_loss
attempt  verdict *stage *evidence *speed-up *tokens in *tokens out *cost *rule *examples shown *first line of the error*" "first a table"
for line in "      1  static_reject  static *-  .*  200  *100  \\\$0.000000  c-build  .*No C source is built" \
    "      2  wrong_values   trials *E0 .*_softmax.*  output 0, trial 1 " \
    "      3  no_code        extract *- .*  The reply has no code block"; do
    printf '%s\n' "$out" | grep -q "^$line"
    ok "… with the line $line"
done
like "$out" "*
# starter/22_mse_loss, attempt 3 of 3: no_code
*## Code
    none
*" "… then the last attempt, as none is correct"
run show ran 04_softmax
like "$out" "*
# starter/04_softmax, attempt 3 of 3: correct, E3
*" "of a task that is solved, the best"

# ---- an attempt ----
run show ran 04_softmax 3
like "$out" "# starter/04_softmax, attempt 3 of 3: correct, E3
monkeys, iteration 3
*## Reference
    import torch
*## Examples shown (*, archive version *)
    1  *
*## Prompts *
    plan: system * bytes, user * bytes
    code: system * bytes, user * bytes
*## Reply (plan, answered*)
    Plan 3 for starter/04_softmax.
*## Reply (code, *
    Here it is.
*## Plan
    the whole reply above
*## Code
    import torch
*## Verdict
    correct, stage done, evidence E3, passes KernelBench's check
    trial *
        1  plain *pass *
*## Feedback
    (empty)
*## Trace
    each call: 1 launch, *
        softmax_rows_kernel*
*## Timing
    not measured: --no-timing switched it off
    verified in *
*## Cost
    plan: 100 tokens in (0 cached), 50 out *
    total: 200 tokens in, 100 out, \$0.000000" "an attempt is shown in full"
run analyze --table fast ran
like "$err" "*no kernel was timed: --no-timing switched it off*" "… and why analyze has no times"
run show ran 04_softmax 2
like "$out" "*attempt 2 of 3: wrong_values, E0*        1  plain *FAIL *## Feedback
    output 0, trial 1 *" "… a wrong one with its errors"
run show ran 04_softmax 1
like "$out" "*    1  *, similarity 0.*" "examples have their similarity"

# ---- how a task is named ----
for word in starter/04_softmax 04_softmax 04 starter/04; do
    run show ran $word 1 --plan
    is "$out" "Plan 1 for starter/04_softmax." "$word names the task"
done
run show ran starter
like "$status $err" "2 *'starter' may mean 3 tasks: starter/*, starter/*, starter/*" "a word for several tasks names them"
run show ran 04_sofmax
is "$status $err" "2 monkeys show: ran has no task '04_sofmax'; did you mean '04_softmax'?" "an unknown task names the nearest"
run show ran ''
like "$status $err" "2 *has no task ''*" "an empty word names none"
run show ran completely-different
like "$status $err" "2 *'monkeys status --tasks ran' lists*" "… or says where they are"
run show ran 04 4
is "$status $err" "2 monkeys show: starter/04_softmax has no attempt 4; it has 3" "an unknown attempt says how many there are"
run show ran 04 0
like "$status $err" "2 *'0' is not the number of an attempt; they count from 1" "attempts count from 1"
run show ran
like "$status $err" "2 *give the folder of a run and a task*" "a task is needed"
run show "$root/tasks" 04
is $status 2 "a folder without a run is refused"

# ---- one part ----
run show ran 04 3 --code
cmp -s "$work/.out" tests/verify/c-cpu/04_softmax.py
ok "--code is the code, byte for byte"
run show ran 04 --reference
cmp -s "$work/.out" tasks/starter/04_softmax.py
ok "--reference is the task's file, byte for byte"
run show ran 04 1 --reply
is "$out" "I would rather not (1)." "--reply is that of the last stage"
run show ran 04 --reply plan 1
is "$out" "Plan 1 for starter/04_softmax." "… or of the one asked for"
run show ran 04 2 --prompt code
like "$out" "\[system\]
*
\[user\]
*class Model(nn.Module)*Plan 2 for starter/04_softmax.*" "--prompt puts the messages together"
run show ran 04 2 --feedback
like "$out" "output 0, trial 1 *" "--feedback is what the model would read"
run show ran 04 1 --code
is "$status $err" "2 monkeys show: starter/04_softmax: attempt 1 has no code" "a part that is missing is said to be"
run show ran 04 1 --reply evolve
is "$status $err" "2 monkeys show: starter/04_softmax: attempt 1 has no stage 'evolve'; its stages: plan, code" "… a stage, too"
run show ran 04 1 --code --plan
like "$status $err" "2 *only one of --code, *" "one part at a time"
run show ran 22 2 --diff
python3 -c "
import difflib, subprocess
a, b = (subprocess.run(['$monkeys', 'show', '$work/ran', '22', n, '--code'], capture_output=True,
        text=True).stdout.splitlines(keepends=True) for n in '12')
print(''.join(difflib.unified_diff(a, b, 'attempt 1', 'attempt 2')), end='')" >"$work/want"
cmp -s "$work/.out" "$work/want" && [ -s "$work/want" ]
ok "--diff is a unified diff against the attempt before"
(cd "$work" && "$monkeys" show ran 22 1 --code >patched && patch -s patched <.out &&
    "$monkeys" show ran 22 2 --code | cmp -s - patched)
ok "… that patch(1) applies"
run show ran 04 1 --diff
like "$status $err" "2 *attempt 1 is the first*" "the first has none"

# ---- JSON ----
run show ran 04 2 --json
is "$(printf '%s\n' "$out" | wc -l)" 1 "--json is one object"
is "$(field '[a["verdict"] for a in o["attempts"]]')" "['no_code', 'wrong_values', 'correct']" "… with all attempts"
is "$(field '(o["attempt"]["attempt"], o["attempt"]["plan"], [c["purpose"] for c in o["attempt"]["calls"]])')" \
    "(2, 'Plan 2 for starter/04_softmax.', ['plan', 'code'])" "… and one in full"
is "$(field 'o["attempt"]["record"]["trials"][0]["pass"], o["attempt"]["error"][:8], o["attempt"]["speedup"]')" \
    "False output 0 None" "… with the verifier's record"

# ---- hostile text ----
# Everything but tabs, newlines and printable characters.
controls() { tr -d '\n\t' <"$work/.out" | python3 -c '
import sys, unicodedata
text = sys.stdin.buffer.read().decode()
print(len([c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")]))'; }
run show ran 01
is "$(controls)" 0 "what a model wrote cannot control a terminal"
has() { grep -q "$1" "$work/.out"; }
has '^    # <1B>\]0;owned<07><1B>\[2J<U+202E><U+2066> <U+009B>31m$'
ok "… it is shown"
has '^    <0D><1B>.*yyy… (9.* more bytes)$' && has '^    # x*… (49.* more bytes)$'
ok "… long lines are cut with a note"
is "$(printf '%s\n' "$out" | grep -c '^## Verdict$')" 1 "… and a forged heading is no heading"
run show ran 01 2 --code
is "$(wc -c <"$work/.out") $(controls)" "$(python3 -c "
import sys; sys.path.insert(0, '$root/tests/cli/run')
import answers; print(len(answers.program('starter/01_swish', 'h', 2).encode()))") 6" "a pipe gets the code unchanged"
run show ran 01 2 --reply
[ "$(wc -c <"$work/.out")" -gt 10500000 ]
ok "… and the reply, all of it"
on_terminal show ran 01 2 --code
has '^# <1B>\]0;owned<07>' && has '^# x*… (49.* more bytes)$'
ok "a terminal gets it as text"
on_terminal show ran 01 2 --reply
has '^<0D><1B>.*yyy… (9.* more bytes)$'
ok "… the reply, too"
run show ran 01 2 --json
is "$(field "o['attempt']['calls'][1]['reply'].count('y') > 10_000_000")" True "JSON has it, too"

cp -r "$work/ran" "$work/named"
python3 -c "import sqlite3; c = sqlite3.connect('$work/named/run.db')
c.execute('UPDATE task SET id = ? WHERE ord = 0', ('odd\x1b[31m\u202e',))
c.execute('UPDATE entry SET name = ? WHERE entry = 1', ('odd\x1b[31m\u202e',))
c.commit()"
run status --tasks named
has '^odd<1B>\[31m<U+202E> '
ok "the name of a task cannot control the terminal"
run status --examples named
has ' odd<1B>\[31m<U+202E> '
ok "… nor that of an example"

# ---- another program holds the file ----
is "$(ls "$work/ran" | grep -c -e -wal -e -shm)" 0 "reading a run leaves no file in its folder"
mkfifo "$work/held" "$work/go"
python3 -c "import sqlite3; c = sqlite3.connect('$work/named/run.db', isolation_level=None)
c.execute('PRAGMA locking_mode = EXCLUSIVE'); c.execute('BEGIN EXCLUSIVE')
open('$work/held', 'w').close(); open('$work/go').read(); c.execute('ROLLBACK')" &
holder=$!
: <"$work/held"
(run status named; echo "$status $out" >"$work/later") &
until grep -q 'locked by another program; waiting' "$work/.err"; do kill -0 $holder || break; done
: >"$work/go"
wait $holder
wait
like "$(cat "$work/later")" "0 named: *solved*" "a file that is locked is waited for, and the program says so"
python3 -c "import sqlite3; c = sqlite3.connect('$work/named/run.db')
c.execute('UPDATE attempt SET task = 77 WHERE task = 0'); c.commit()"
run status named
is "$status $err" "2 monkeys status: named/run.db: damaged: an attempt belongs to task 78, but the run has only 3 tasks; \
restore the file from a copy" "rows that do not fit together name the file and the remedy"
run status tasks/starter/04_softmax.py
like "$status $err" "2 *04_softmax.py: not a folder; name the folder of a run" "… and so does a file that is no run"

# ---- a run that has not begun ----
run run --dsl c-cpu --device cpu --tasks tasks/starter/04_softmax.py --force --no-timing \
    --spool mail --no-wait --attempts 1 --out waits
run show waits 04
like "$status $out" "0 # starter/04_softmax
No attempt is finished." "a task without attempts says so"
run show waits 04 --code
is "$status $err" "2 monkeys show: starter/04_softmax: no attempt is finished" "… and has no code"
run show waits 04 --json
is "$(field 'o["attempts"], o["attempt"]')" "[] None" "… in JSON, too"
finish
