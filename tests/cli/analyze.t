#!/bin/sh
# analyze.t: monkeys analyze: tables with known answers from databases made by hand, and from a
# recorded run, recomputed by a script.
. tests/cli/lib.sh
. tests/cli/run/elsewhere.sh
cd "$root" || exit 1
export PYTHONDONTWRITEBYTECODE=1
mkdir -p "$work/tasks/starter"
cp tasks/starter/0[145]_*.py tasks/starter/22_*.py "$work/tasks/starter"
for method in monkeys sampling; do
    python3 tests/cli/run/answers.py cassette $method starter/01_swish=rr starter/04_softmax=wr \
        starter/05_logsumexp=nr starter/22_mse_loss=sw >"$work/$method.jsonl"
done
elsewhere ran --dsl c-cpu --device cpu --tasks tasks/starter --attempts 2 --batch 2 --force \
    --no-timing --cassette monkeys.jsonl
elsewhere all --dsl c-cpu --device cpu --tasks tasks/starter --attempts 2 --method sampling --no-stop \
    --force --no-timing --cassette sampling.jsonl
is $status 0 "runs to analyse end"
for kind in full timed similar words empty doubtful; do
    python3 tests/cli/analyze/made.py "$work/ran" $kind "$work/$kind"
done
# recompute COMMAND RUN…: nothing differs.
recompute() {
    command=$1
    shift
    out=$(cd "$work" && python3 "$root/tests/cli/analyze/recompute.py" $command "$monkeys" "$@")
}
# table NAME RUN…: its rows, in $out
table() {
    name=$1
    shift
    run analyze --table $name --csv "$@"
}

# ---- against the script ----
recompute analyze ran all
ok "every table of recorded runs is what a script computes from the database"
recompute analyze full timed similar words
ok "… and of runs made by hand"

# ---- known answers ----
table samples full
is "$out" "run,language,model,method,level,tasks,N,accuracy,coverage,first,pass@1,pass@5
full,quill,m,sampling,level1,2,5,0.2,0.5,0.5,0.2,0.5
full,quill,m,sampling,level2,1,5,1,1,1,1,1
full,quill,m,sampling,all,3,5,0.4666666667,0.6666666667,0.6666666667,0.4666666667,0.6666666667" \
    "samples: 2, 0 and 5 of 5 are correct; a task that is skipped does not count"
table samples timed
is "$out" "run,language,model,method,level,tasks,N,accuracy,coverage,first,pass@1
timed,quill,tuned,monkeys,all,5,2,,0.6,0.4," \
    "where tasks stop at a success, accuracy and pass@k are empty"
table fast timed
is "$out" "run,attempt,solved,eager_>_1,eager_>=_1,compile_>_1,compile_>=_1
timed,1,0.4,0.2,0.2,0,0.2
timed,2,0.6,0.2,0.4,0,0.2" "fast: ties at 1.0 count with >= alone; failed timing and refused kernels never"
table iterations timed
is "$out" "run,attempt,correct,compiled,tasks
timed,1,2,4,5
timed,2,3,5,5" "iterations: a task that compiled stays so"
table novelty timed
is "$out" "run,compared_with,examples_changed,attempts,successful,success_rate
timed,previous attempt,1,1,0,0
timed,previous attempt,2,1,1,1
timed,\"previous attempt, newer kernels\",1,1,0,0
timed,\"previous attempt, newer kernels\",2,1,1,1" \
    "novelty: no task was tried twice in one mode, so there is no row for that"
table retrieval timed similar full
is "$out" "retrieval,run,attempts,tasks,solved,share
similar,similar,1,2,1,0.5
alternating,timed,2,5,3,0.6" "retrieval: by what the attempts did"
run analyze --table tuned --csv timed full --training tuned=book,800,1600
is "$out" "model,run,source_of_data,problems,samples,solved,reach_1,share,above_1
tuned,timed,book,800,1600,3,2,0.6666666667,1
m,full,,0,0,2,,," "tuned: what reaches eager or compiled PyTorch"
table cost timed
like "$out" "*
timed,quill,tuned,monkeys,3,7,7,700,140,0.021,2.333333333,280,0.007" "cost: what a solve cost"
table solved empty
like "$out" "*,1,0,0,0,0.79*" "a run without an attempt has solved nothing"

table features words
is "$out" "run,task,attempt,lines,primitives,names
words,level1/a,1,8,2,\"language.kernel, language.sum\"
words,level1/b,1,8,3,\"language.kernel, language.load, language.sum\"
words,level1/c,1,8,2,\"language.exp, language.kernel\"" "features: neither comments nor docstrings count"
table primitives words
is "$out" "run,primitive,solved,share,failed_attempts,taught
words,language.exp,1,0.3333333333,1,no
words,language.kernel,3,1,2,seeds
words,language.load,1,0.3333333333,0,seeds
words,language.made,0,0,1,no
words,language.sum,2,0.6666666667,1,no" "primitives: who uses them, and who taught them"
table coverage words
is "$out" "run,components,unsolved,all_present,share,mean_covered,with_new
words,operators of the reference,2,1,0.5,0.6666666667,1
words,neighbouring operators of the reference,2,0,0,0,2" "coverage: one of two tasks needs only what is there"
table unsolved words
is "$out" "run,task,family,length,operators,attempts,needed,in_guide,in_examples,in_code,never_visible
words,level1/d,reduction,3,LayerNorm > exp > cumsum,1 compile_error,3,,1,0,\"LayerNorm, cumsum\"
words,level1/e,reduction,2,exp > sum,1 wrong_values,2,,1,2," "unsolved: cumsum was never to be seen"

run analyze --table unsolved doubtful
[ $status = 0 ] && like "$out" "unsolved: *
every task is solved" "… and no table of them is no error"

# ---- what cannot be filled, and formats ----
run analyze empty
like "$out" "solved: *
Tables that these runs cannot fill:
*  fast: no kernel was timed: no task was solved*" "without --table, missing tables are named with the reason"
run analyze --table fast ran
[ $status = 2 ] && [ -z "$out" ]
ok "a table that cannot be filled is an error"
like "$err" "*no table fast: no kernel was timed: the records do not say why*" "… with the reason"
run analyze --json --table fast ran
is "$out" '{"table":"fast","missing":"no kernel was timed: the records do not say why"}' \
    "… and a record as JSON"
run analyze timed
printf '%s' "$out" | LC_ALL=C grep -q "$(printf '[\033\342]')"
[ $? = 1 ]
ok "a hostile name cannot control the terminal"
like "$out" "*level1/=1+1|<b><1B>\[2J<U+202E>_x_*" "… and is shown"
run analyze --md --table credit timed
like "$out" "### credit
*| timed | 3 | \`level1/=1+1\\\\|<b><1B>\[2J<U+202E>_x_\` | run |*" \
    "… nor Markdown or HTML"
table solved similar
like "$out" "*
similar,quill,\"'=1+1,\"\"m\"\"\",monkeys,*" "in CSV a text that begins like a formula gets a quote"

# ---- borrowing, which asks a model ----
reader="python3 $root/tests/cli/analyze/reader.py"
recompute borrowing first - 1 ran
ok "borrowing: what a script computes from the answers and the database"
asked=$(wc -l <"$work/first.log")
recompute borrowing first - 1,2 ran
ok "… of the attempts that are named"
is "$(sort "$work/first.log" | uniq -d | wc -l) $asked" "0 3" "an answer that is stored is not asked for again"
recompute borrowing repaired 01_swish 1 ran
ok "an answer that cannot be read is asked for once more"
is "$(grep -c '^."borrowing-repair"' "$work/repaired.log")" 1 "… only that one"
# borrow STORE WORD OPTIONS…
borrow() {
    store=$1 word=$2
    shift 2
    run analyze --table borrowing --csv --store "$store" --command "$reader $work/$store.log $word" "$@" ran
}
borrow bad bad
like "$out" "*
ran,1,solved,0,,1,0
ran,1,failed,0,,2,0" "answers that stay unreadable are counted"
borrow poor - --price 1,1 --budget-usd 0.0001
is $status 3 "without budget it stops"
[ ! -e "$work/poor.log" ]
ok "… before it asks"
borrow none - --attempt 9
[ $status = 2 ] && like "$err" "*no attempt with one of these numbers*" "no such attempt: said before a model is asked"
run analyze --table borrowing ran
is $status 2 "without a model it refuses"

# ---- for the author of a language ----
run report --dsl-author words
is $status 0 "a report for the author of a language"
like "$out" "# What runs say about a language
*- words: quill, m, monkeys; solved 3 of 5 tasks
*### failures
*| words | 1 | 1 | 0 | compile_error | no such name: made | level1/d, attempt 1 |
*    no such name: made
    Hint: Did you mean T.copy?
*### hints
*| words | Did you mean T.copy? | 2 | 0 | 0 |  |
*### unused
*every primitive that was taught is used*
*### invented
*| words | language.made | 1 | 2 |
*" "… has failures with a sample, hints, primitives and invented names"
run report --dsl-author -o author.md words
[ $status = 0 ] && grep -q "language.made" "$work/author.md"
ok "… to a file with -o"
run report --dsl-author --md words
is $status 2 "… but not with --md"
run report --dsl-author timed
printf '%s' "$out" | LC_ALL=C grep -q "$(printf '[\033\342]')"
[ $? = 1 ]
ok "… and hostile names stay text"
run report --dsl-author ran
like "$out" "*### failures
*static_reject*" "… of a recorded run"

run compare ran all
[ $status = 2 ] && like "$err" "*
  --no-stop: not given in ran, given in all*" "runs with and without --no-stop do not compare"
run analyze --table "?" ran
printf '%s\n' "$err" | sed 's/.*there are //' | tr -d ' ' | tr ',' '\n' >"$work/tables"
missing=$(while read -r name; do grep -q "^| .$name. |" docs/ANALYZE.md || echo "$name"; done <"$work/tables")
is "$(grep -x solved "$work/tables"):$missing" "solved:" "every table is described in docs/ANALYZE.md"

# ---- mistakes ----
run analyze
is "$status" 2 "without a run it refuses"
run analyze nowhere
[ $status = 2 ] && like "$err" "*nowhere*" "a folder that does not exist is named"
echo text >"$work/file"
run analyze file
[ $status = 2 ] && like "$err" "*file*" "… and a file"
run analyze --table solve ran
[ $status = 2 ] && like "$err" "*no table 'solve' (did you mean 'solved'?)*samples*credit*" \
    "an unknown table: the known ones are named"
run analyze --csv ran
[ $status = 2 ] && like "$err" "*--table*" "--csv without --table is refused"
run analyze --json --md ran
is $status 2 "two formats at once are refused"
run analyze --table tuned --training m=book ran
[ $status = 2 ] && like "$err" "*MODEL=SOURCE,PROBLEMS,SAMPLES*" "a bad --training is explained"
finish
