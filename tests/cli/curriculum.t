#!/bin/sh
# curriculum.t: runs with pieces that are ready: what is solved first, what is
# counted, what is refused, and that a run that was killed goes on to the same.
. tests/cli/lib.sh
. tests/cli/run/lib.sh
. tests/cli/run/elsewhere.sh
made="python3 $root/tests/cli/curriculum/made.py"
$made "$work/coarse" coarse "starter/04_softmax=01_swish,05_logsumexp<01_swish" \
    "starter/22_mse_loss=02_gelu,01_swish"
$made "$work/medium" medium "starter/04_softmax=08_rms_norm,01_swish" \
    "starter/22_mse_loss=07_layer_norm"
mkdir -p "$work/two/starter"
cp $starter/04_*.py $starter/22_*.py "$work/two/starter"
$answers cassette monkeys starter/04_softmax=nnn starter/22_mse_loss=nr coarse/01_swish=r \
    coarse/05_logsumexp=nr coarse/02_gelu=nnn >"$work/told.jsonl"
$answers cassette monkeys starter/04_softmax=nnn starter/22_mse_loss=nnn coarse/01_swish=nnn \
    coarse/05_logsumexp=nnn coarse/02_gelu=nnn medium/08_rms_norm=nn medium/07_layer_norm=nn \
    >"$work/dull.jsonl"
sql() { sqlite3 -separator ' ' "$work/$1/run.db" "$2"; }
set -- --dsl c-cpu --device cpu --tasks two/starter --attempts 3 --batch 2 --force --no-timing

elsewhere one "$@" --cassette told.jsonl --curriculum-from coarse --piece-example
is $status 0 "a run with pieces ends when every task is solved or used up"
like "$out" "*starter/04_softmax *no_code *piece *coarse/01_swish *correct *solved 1 of 2 tasks in 5 attempts; 2 of 3 pieces in 6 attempts; *" \
    "pieces are listed and counted apart"
like "$err" "*solved 1/2, pieces 2/3*" "… in the progress, too"
is "$(sql one 'SELECT DISTINCT batch, id FROM attempt JOIN task ON ord = task WHERE iteration = 1 ORDER BY batch, id')" \
    "1 coarse/01_swish
1 coarse/02_gelu
2 coarse/05_logsumexp
2 starter/22_mse_loss
3 starter/04_softmax" "in an iteration pieces come before what needs them"
is "$(sql one "SELECT id, name FROM shown s JOIN task ON ord = s.task JOIN entry e ON e.entry = s.entry WHERE reason = 'piece' AND s.attempt = 1 ORDER BY id")" \
    "coarse/05_logsumexp coarse/01_swish
starter/04_softmax coarse/01_swish
starter/22_mse_loss coarse/01_swish" "a piece that was just solved is shown to what needs it"
run status one --json
like "$out" '*"tasks":2,"skipped":0,"solved":1,*"attempts":5,*"pieces":{"total":3,"skipped":0,"solved":2,"attempts":6}*' \
    "status counts them apart"
run status one --tasks --json
like "$out" '*"task":"coarse/05_logsumexp"*"piece":{"kind":"partition","level":"coarse","depth":1,"parents":\["starter/04_softmax"],"needs":\["coarse/01_swish"]}*' \
    "… and says what each is"
run show one coarse/05_logsumexp 1
like "$out" "*coarse/01_swish (run), similarity *, a piece of the task*" "a piece can be shown, and why it saw an example"
run archive export one -o kernels
like "$(cat "$work/kernels/coarse_05_logsumexp/meta.json")" '*"piece": {*"depth": 1,*"parents": \[*"starter/04_softmax"*' \
    "export keeps what a kernel is a piece of"
run archive list kernels --json
like "$out" '*"name":"coarse_01_swish",*"piece":{"kind":"partition",*' "… which an archive's list says"
run report one -o one.html
is $status 0 "a report can be made"
run analyze one --table curriculum --json
like "$out" '*"setting":"coarse","pieces":3,"pieces_solved":2,"tasks":2,"tasks_solved":1,*' \
    "the table of curricula has it"

# Without code in any answer no verifier is needed.
dull="--cassette dull.jsonl --verifier jobs=unasked --curriculum-from coarse --curriculum-from medium --refine-after 1"
run run "$@" $dull --out lazy
is $status 0 "a run may begin coarse and refine"
is "$(sql lazy 'SELECT id, min(iteration), count(*) FROM attempt JOIN task ON ord = task WHERE kind NOT NULL GROUP BY id')" \
    "coarse/01_swish 1 3
coarse/02_gelu 1 3
coarse/05_logsumexp 1 3
medium/07_layer_norm 2 2
medium/08_rms_norm 2 2" "finer pieces come later, those that are the same as a coarse one never"
like "$err" "*starter/04_softmax: unsolved after 1 attempt, so 1 finer piece joins the pool*" "… and it says so"
before=$(tables lazy)
n=0 same=0 begun=0
for at in 5 70 150 210 290; do
    rm -rf "$work/killed"
    (cd "$work" && env -i PATH="$PATH" HOME="$work" MONKEYS_FAULT_STORE=$at "$monkeys" run "$@" \
        $dull --out killed >/dev/null 2>&1)
    [ $? = 9 ] || continue
    n=$((n + 1))
    away=coarse # once tasks and pieces are stored, the folder is not read again
    if [ "$(sql killed 'SELECT count(*) FROM task')" = 7 ]; then
        away=elsewhere begun=$((begun + 1))
        mv "$work/coarse" "$work/$away"
    fi
    run resume killed
    [ $away = coarse ] || mv "$work/$away" "$work/coarse"
    [ "$status" = 0 ] && [ "$(tables killed)" = "$before" ] && same=$((same + 1))
done
[ $n = 5 ] && [ $same = $n ] && [ $begun -gt 1 ] && [ $begun -lt $n ]
ok "a run that was killed goes on to the same tables ($same of $n), without the folders once it has begun ($begun)"

out=$(cd "$work" && python3 "$root/tests/cli/analyze/recompute.py" analyze "$monkeys" one lazy)
ok "every table of runs with pieces is what a script computes from the database"
out=$(cd "$work" && python3 "$root/tests/cli/analyze/recompute.py" compare "$monkeys" one lazy)
ok "… and of their comparison"

# ---- pieces that are made ----
set -- --dsl c-cpu --device cpu --tasks $starter/20_attention.py --attempts 1 --force --no-timing \
    --command "cat >/dev/null; echo Nothing."
run run "$@" --curriculum coarse --out divided
is $status 0 "--curriculum divides the tasks first"
like "$err" "*tasks divided (coarse) 1/1*solved 0/1, pieces 0/2*" "… and says so"
run analyze divided --table curriculum --csv
like "$out" "*,coarse,2,0,1,0" "… and works on the pieces"
(cd "$work" && env -i PATH="$PATH" HOME="$work" MONKEYS_FAULT_STORE=55 "$monkeys" run "$@" \
    --curriculum coarse --out early >/dev/null 2>&1)
is $? 9 "a run that was killed before its pieces were stored"
is "$(ls "$work/early/curriculum") $(sql early 'SELECT count(*) FROM task')" "coarse 0" "… but after they were made"
run resume early
is $status 0 "… goes on"
case $err in *'tasks divided'*) false ;; esac
ok "… and divides nothing again"
is "$(sql early 'SELECT kind, count(*) FROM task JOIN attempt ON task = ord GROUP BY kind')" " 1
partition 2" "… and works on them"
mkdir -p "$work/taken/curriculum"
run run "$@" --curriculum coarse --out taken
like "$err" "*taken/curriculum exists already; remove it, or choose another --out*" "a folder of somebody else's is left alone"
[ -d "$work/taken/curriculum" ] && [ ! -e "$work/taken/run.db" ]
ok "… and no run is there"
run run "$@" --curriculum coarse --dry-run --price 1,1
like "$out" "1 task,*pieces are not included*" "an estimate says that pieces are not known yet"

set -- --dsl c-cpu --device cpu --tasks two/starter --attempts 3 --batch 2 --force --no-timing
run run "$@" --cassette told.jsonl --method sampling --curriculum-from coarse --out no
is $status 2 "a method that shows no solved kernel is refused"
like "$err" "*sampling shows only the pack's seeds*--piece-example*" "… with the remedy"
run run "$@" --cassette told.jsonl --method combined --curriculum-from coarse --refine-after 2 --out no
like "$err" "*--refine-after counts the iterations of --method monkeys in strict order*" "a method without iterations cannot refine"
run run "$@" --cassette told.jsonl --refine-after 2 --out no
like "$err" "*--refine-after needs --curriculum*" "… nor a run without pieces"
run run "$@" --cassette told.jsonl --curriculum fine --refine-after 2 --out no
like "$err" "*no level is finer than fine*" "… nor what is fine already"
run run "$@" --cassette told.jsonl --piece-example --out no
like "$err" "*--piece-example needs --curriculum*" "no piece, no place for one"
run run --dsl c-cpu --device cpu --tasks $starter/02_gelu.py --cassette told.jsonl --curriculum-from coarse --out no
is $status 2 "pieces of other tasks are refused"
like "$err" "*coarse divides no task of this run, but starter/*" "… by name"
[ ! -e "$work/no" ]
ok "… and nothing is written"
finish
