# lib.sh: what the tests of a run share: answers that the tests have written themselves, for two
# tasks that no verifier is needed for, and for four that need one. Sourced after tests/cli/lib.sh.
cd "$root" || exit 1
export PYTHONDONTWRITEBYTECODE=1
answers="python3 -ES $root/tests/cli/run/answers.py"
starter=$root/tasks/starter
$answers cassette monkeys starter/01_swish=sn starter/04_softmax=ns >"$work/quick.jsonl"
$answers cassette monkeys starter/01_swish=r starter/04_softmax=wr starter/05_logsumexp=nr \
    starter/22_mse_loss=sw >"$work/real.jsonl"
quick="--tasks $starter/01_swish.py --tasks $starter/04_softmax.py --force --attempts 2 \
    --verifier jobs=unasked"
mkdir -p "$work/four/starter"
cp $starter/0[145]_*.py $starter/22_*.py "$work/four/starter"
real="--tasks four/starter --attempts 2 --batch 2"

tables() { $answers tables "$work/$1"; }
value() { # NAME: a number of the status of the last run asked for
    printf '%s\n' "$out" | sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p"
}
