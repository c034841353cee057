#!/bin/sh
# stop.t: how a run may end before its end, and that it goes on from there to the
# same tables as one that was not stopped.
. tests/cli/lib.sh
. tests/cli/run/lib.sh
set -- --dsl c-cpu --device cpu
$answers cassette monkeys starter/02_gelu=n >"$work/gelu.jsonl"
real="$real --no-timing"
run run "$@" $real --cassette real.jsonl --out whole
is $status 0 "a run that nobody stops"
before=$(tables whole)
run run "$@" $quick --cassette quick.jsonl --out straight
is $status 0 "… and one without a verifier"

run run "$@" $quick --command "$answers command quick.jsonl asked" --price 1,2 --budget-usd 0.000001 --out poor
is $status 3 "a budget that is too small exits 3"
like "$err" "*out of budget: the next attempt may cost \$0.*, and \$0.0000 of \$0.0000 is left; continue with: monkeys resume poor --budget-usd 0.*" "… and says so"
[ ! -e "$work/asked" ]
ok "… and nothing was asked"
run status poor
like "$out" "poor: out of budget; *" "… status, too"
run resume poor --budget-usd 10
is $status 0 "with a higher one it goes on"
is "$(grep '^budget-usd' "$work/poor/run.ini")" "budget-usd = 10" "… which stays the run's"
run status poor --json
is "$(value usd_micro)" 1600 "… and tells what it cost"
run run "$@" $quick --cassette gelu.jsonl --out refused
is $status 4 "a provider that refuses everything exits 4"
like "$err" "*gelu.jsonl has no answer for starter/01_swish*some tasks were set aside*" "… and says why"
run status refused --json
is "$(value attempts)" 0 "… which is nobody's attempt"
is "$(value aside)" 2 "… but counts as set aside"
run status refused --tasks
like "$out" "*starter/01_swish *set aside *gelu.jsonl has no answer*2 set aside*" "… with the reason, also later"
run resume refused --cassette quick.jsonl
is $status 0 "it goes on when answers are there"
run status refused --tasks
like "$out" "*starter/01_swish *no_code *in 4 attempts; 8 calls*" "… and is aside no more"
run resume refused --temperature 0.5 --max-tokens 99
like "$err" "*the run began with --temperature '1'; with '0.5' it continues differently from an uninterrupted run*--max-tokens '16384'; with '99'*" "what changes the answers is warned of"
# The worker of this one is killed, too, when it goes on: by the first request.
(cd "$work" && exec env -i PATH="$PATH" HOME="$work" "$monkeys" run "$@" $real --out checked --command \
    "! mkdir once 2>/dev/null || pkill -9 -P \$PPID monkeys-worker; $answers command real.jsonl asked" >checked.out 2>&1) &
pid=$!
until [ -e "$work/checked/run.db" ]; do kill -0 $pid 2>/dev/null || break; done
kill -INT $pid
wait $pid
is $? 130 "stopped while tasks are checked it exits 130"
like "$(cat "$work/checked.out")" "*the run was stopped; continue with: monkeys resume checked*" "… and says how to go on"
[ ! -e "$work/once" ]
ok "… before anything was asked"
run resume checked
is "$status" 0 "… which works; a worker that ends does not end the run"
like "$err" "*monkeys-worker ended unexpectedly; starting it again*" "… and is started again"
like "$out" "*starter/01_swish *correct *1 *E3 *" "… and judges what it had not"
is "$(tables checked)" "$before" "… and all comes to the same"
rm -f "$work/asked"
(cd "$work" && exec env -i PATH="$PATH" HOME="$work" "$monkeys" run "$@" $real --force --cassette real.jsonl \
    --verifier tcp=127.0.0.1:0 --launcher none --out lonely >lonely.out 2>&1) &
pid=$!
until run status lonely --json && [ "$(value calls)" = 4 ]; do kill -0 $pid 2>/dev/null || break; done
kill -INT $pid
wait $pid
is $? 130 "stopped while it waits for a worker it exits 130"
run status lonely
like "$out" "lonely: stopped; *" "… and status says so"
rm -f "$work/asked"
run run "$@" $quick --command "$answers command quick.jsonl asked stop" --in-flight 1 --out stopped
is $status 130 "an interrupted run exits 130"
is "$(grep -c . "$work/asked")" 1 "… and asks no more"
run status stopped
like "$out" "stopped: stopped; *" "… status knows that it was stopped"
run status stopped --json
is "$(value calls) $(value answered)" "1 1" "… what was paid for is kept"
run resume stopped
is $status 0 "it goes on"
is "$(grep -c . "$work/asked") $(sort "$work/asked" | uniq -d | wc -l)" "8 0" "… and asks nothing twice"
is "$(tables stopped)" "$(tables straight)" "… with the same tables"
rm -f "$work/asked"
run run "$@" $quick --command "$answers command quick.jsonl asked hangup" --in-flight 1 --out hung
is "$status $(grep -c . "$work/asked")" "130 1" "so does one whose terminal is closed"
run status hung --json
is "$(value answered) $(value lost)" "1 0" "… which loses nothing"
rm -f "$work/asked"
trap '' HUP
signals=
run run "$@" $quick --command "$answers command quick.jsonl asked hangup" --in-flight 1 --out nohup
trap - HUP
signals=--default-signal=HUP
is $status 0 "… unless it was told not to mind"
rm -f "$work/asked"
run run "$@" $quick --command "$answers command quick.jsonl asked stop" --rpm 1 --price 1,2 --budget-usd 1 --out slow
is "$status $(grep -c . "$work/asked")" "130 1" "an interrupted run does not ask what waited for its turn"
run status slow --json
is "$(value answered) $(value lost) $(value usd_micro)" "1 0 200" "… which has cost nothing"
run resume slow --rpm 100000
is "$status $(sort "$work/asked" | uniq -d | wc -l)" "0 0" "… and is asked when the run goes on"
is "$(tables slow)" "$(tables straight)" "… with the same tables"
mkdir "$work/held"
(cd "$work" && exec env -i PATH="$PATH" HOME="$work" "$monkeys" run "$@" $quick --spool folder2 --out held >held.out 2>&1) &
pid=$!
until ls "$work"/folder2/requests/*.json >/dev/null 2>&1; do
    kill -0 $pid 2>/dev/null || break
done
run resume held
is $status 2 "a run's folder that is in use is refused"
like "$err" "*held: in use by process $pid" "… and by whom"
run status held
is $status 0 "status can be asked meanwhile"
like "$out" "held: running (process $pid); *" "… and says which process it is"
kill -TERM $pid
wait $pid
is $? 130 "stopped it does not wait for answers that may take days"

finish
