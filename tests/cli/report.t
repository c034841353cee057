#!/bin/sh
# report.t: monkeys report: one file that needs nothing else, whatever models and tasks contain.
. tests/cli/lib.sh
. tests/cli/run/lib.sh
. tests/cli/run/elsewhere.sh
# look FILE EXPRESSION: see report/look.py.
look() { python3 "$root/tests/cli/report/look.py" "$work/$1" "$2"; }

# ---- a run with hostile names and replies ----
evil='<script>alert(1)<!--'
mkdir -p "$work/odd/starter"
cp $starter/01_swish.py $starter/04_softmax.py "$work/odd/starter"
cp $starter/22_mse_loss.py "$work/odd/starter/$evil.py"
$answers cassette monkeys starter/01_swish=sh starter/04_softmax=nwr "starter/$evil=nnn" >"$work/odd.jsonl"
elsewhere odd-run --dsl c-cpu --device cpu --tasks odd/starter --force --no-timing --attempts 3 \
    --cassette odd.jsonl --model '<b>m'
is $status 0 "a run with hostile names and replies"

run report odd-run
is "$status $(echo "$out" | sed 's/(.*//')" "0 The report: odd-run/report.html " "the report lies in the run's folder"
is "$(look odd-run/report.html problems)" "[]" "it is complete: one script, one style, no address, a strict policy"
is "$(look odd-run/report.html 'o["overview"]["runs"][0]["solved"], len(o["grid"]["runs"][0]["tasks"])')" "(2, 3)" "it has the views"
is "$(look odd-run/report.html 'o["tasks"]["0/starter/04_softmax"]["details"]["3"]["attempt"]["verdict"]')" "correct" "… and the attempts"
is "$(look odd-run/report.html '"</script><script>" in o["tasks"]["0/starter/01_swish"]["details"]["2"]["attempt"]["plan"]')" \
    True "what a model wrote is there, as data"
is "$(look odd-run/report.html 'size < 500000')" True "lines of 10 MB are cut"
is "$(look odd-run/report.html 'o["left_out"]')" "{'attempts': 0, 'kept': 8}" "nothing else is left out of a small run"

# ---- in a browser ----
dom() { timeout 300 chromium --headless=new --no-sandbox --disable-gpu --user-data-dir="$work/browser" \
    --virtual-time-budget=5000 --enable-logging=stderr --dump-dom "file://$work/odd-run/report.html$1" \
    >"$work/dom" 2>"$work/browser.log"; }
dom ''
grep -q '<title>.*c-cpu.*monkeys</title>' "$work/dom" && grep -q '2 of 3 PyTorch programs' "$work/dom"
ok "a browser shows it from disk"
grep -q '&lt;script&gt;alert(1)&lt;!--' "$work/dom"
ok "… with a hostile name as text"
dom '#/task/0/starter%2F01_swish/2'
grep -q 'class="esc">U+202E</span>' "$work/dom" && grep -q '&lt;img src=http://x.test/' "$work/dom"
ok "… and a hostile reply, its hidden characters as escapes"
! grep -q 'CONSOLE\|Refused' "$work/browser.log"
ok "… without an error on the console"

# ---- Markdown ----
run report odd-run --md -o -
is "$status" 0 "Markdown goes to standard output"
like "$out" "2 of 3 PyTorch programs now have a verified c-cpu kernel. \`<b>m,\` with the method*
| run | model |*
| monkeys | \`<b>m\` | c-cpu | cpu | finished | 2 of 3 | 8 |*
| run | 1 | 2 | 3 |
*| 1 | no_code |*" "… with the figures, and no markup of others"

# ---- times that are hard to believe ----
python3 "$root/tests/cli/analyze/made.py" "$work/odd-run" doubtful "$work/doubtful"
many="it is 25.0 times as fast as PyTorch"
much="it would move 10.00 TB/s, but the memory of NVIDIA H200 can move 4.80 TB/s"
run report doubtful --md -o -
like "$out" "*Speed-ups that are hard to believe:
*| monkeys | level1/a | 1 | 25.00x | $many |
| monkeys | level1/b | 1 | 1.25x | $much |" "times that are hard to believe are listed with the reason"
run report doubtful
is "$(look doubtful/report.html '[k[-1] for k in o["kernels"]["runs"][0]["kernels"]], o["kernels"]["runs"][0]["timed"]')" \
    "(['$many', '$much', None], 3)" "… and marked in the page, where they count like the others"
run status --tasks doubtful
like "$out" "*level1/a *25.00x?*implausible: $many
level1/b *1.25x?*implausible: $much
level1/c *2.00x *" "… and in status --tasks"
run status doubtful
like "$out" "*2 speed-ups are hard to believe; 'status --tasks' has the reasons" "… which status points to"
run show doubtful level1/a 1
like "$out" "# level1/a, attempt 1 of 1: correct, E3, 25.00x (hard to believe: $many)*" "… and in show"

# ---- several runs ----
run report odd-run odd-run -o two.html
is "$status $(look two.html 'len(o["overview"]["runs"]), len({k.split("/")[0] for k in o["tasks"]})')" "0 (2, 2)" "runs are shown side by side"

# ---- a pipe or a device ----
mkfifo "$work/pipe"
timeout 300 cat "$work/pipe" >"$work/piped.md" &
reader=$!
run report odd-run --md -o pipe
wait $reader
[ $status = 0 ] && [ -p "$work/pipe" ] && grep -q '^| run |' "$work/piped.md"
ok "a pipe is written to, not replaced by a file"

# ---- what cannot be ----
run report nowhere -o none.html
is "$status $err" "2 monkeys report: nowhere: no such folder; name the folder of a run, as 'monkeys run --out DIR' makes it" "a folder without a run is refused"
[ ! -e "$work/none.html" ]
ok "… and nothing is written"
run report
is "$status" 2 "so is a call without one"
echo old >"$work/old.html"
run report odd-run nowhere -o old.html
is "$status $(cat "$work/old.html")" "2 old" "a report that fails leaves the old file"
run report odd-run -o missing/report.html
is "$status" 2 "a place that cannot be written is named"
like "$err" "*missing/report.html*" "… in the error"
finish
