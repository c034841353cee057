#!/bin/sh
# verify.t: monkeys verify and tasks on the CPU, with real candidates in real
# boxes. Tricks without effect (`harmless` in tests/verify/hostile) are accepted in
# tests/worker/test_hostile.py.
. tests/cli/lib.sh
cd "$root" || exit 1

# Of the right candidates one of each kind is verified here; VERIFY=all, as in `make test-long`,
# verifies them all. kinds LIST: the lines of a list that are verified.
# What kernels may contain: scans and reductions with functions of one's own, products, atomics and
# programs that wait for each other, block pointers, descriptors made on either side, autotuning
# with hooks, heuristics, libdevice, sorting, ties, casts to bf16, masks of bool, tuples, grids of
# three dimensions.
kinds="autotune_pre_hook_mse style_scan style_argmax_ties style_atomics
    style_bf16_casts style_block_pointers style_bool_mask style_device_descriptor style_dot
    style_generic_reduce style_heuristics style_host_descriptor style_last_program
    style_libdevice style_sort style_three_dimensional_grid style_tuple_arguments"
# What host code may do: keep memory, weights and statistics, pack weights, join, pad, flip and
# view tensors, take and return plain values, define functions of autograd. The last three came
# with the mending of a defect. Styles that differ in the recording alone: tests/worker/test_recorder.py.
kinds="$kinds class_attribute_masked_cumsum style_autograd_backward style_cat
    style_embedding style_flips style_kept_workspace
    style_packed_weights style_pad style_plain_values style_running_statistics style_strides
    style_compiler_disable style_many_launches style_transposition"
# C: a product, a scan, attention and a loss; and all styles, each of which is one of its kind.
kinds="$kinds 10_matmul 15_masked_cumsum 20_attention 23_cross_entropy c_[a-z_]*"
mkdir "$work/lists"
for list in honest honest-styles honest-c-cpu starter-c-cpu; do
    awk -v at="$root/tests/verify/" '{ print at $1, at $2 }' "tests/verify/$list.list" >"$work/lists/$list.list"
done
python3 -B tests/verify/patches.py "$work/lists" 'style_*' >>"$work/lists/honest-styles.list"
python3 -B tests/verify/patches.py "$work/lists" 'c_*' >>"$work/lists/honest-c-cpu.list"
kinds() {
    [ "${VERIFY:-}" != all ] || set -- "$1" "[^/]*"
    grep -E "/($(printf %s "${2:-$kinds}" | tr -s ' \n' '|'))\.py\$" "$work/lists/$1"
}
# together LIST…: the candidates of all lists, in their order.
together() {
    for list in "$@"; do kinds $list; done
    before=0
}
# all LIST NUMBER CLAIM: every line of the list, the next one of those, came out correct.
all() {
    lines=$(kinds $1 | grep -c .)
    [ "${VERIFY:-}" = all ] || is "$lines" "$2" "$3: $2 of them"
    part=$(printf '%s\n' "$out" | sed -n "$((before + 1)),$((before + lines))p")
    before=$((before + lines))
    is "$(printf '%s\n' "$part" | grep -c '"accepted":true')" "$lines" "$3: all accepted"
    is "$(printf '%s\n' "$part" | grep -c '"evidence":"E3"')" "$lines" "$3: all with evidence E3"
}
together honest.list honest-styles.list >"$work/triton.list"
run verify --device cpu --dsl triton --list triton.list --no-timing --json
is $status 0 "the right candidates of triton: exit status 0"
is "$(cut -d' ' -f1 tests/verify/honest.list | sort -u | grep -c tasks/starter/)" 24 "each starter task has an honest kernel"
all honest.list 2 "honest kernels in unusual styles"
all honest-styles.list 29 "honest styles of host code and kernels"

run tasks check --device cpu --self-test
is $status 0 "all starter tasks pass the gate, and the self-test of the judge"
like "$out" '*starter/09_batch_norm* ok, as written right in 8 of 8 trials*' "which says in how many trials the task as written is right"
run tasks list --json
is "$(printf '%s\n' "$out" | grep -c '"operators":')" 24 "tasks list has 24 tasks"
like "$out" '*"id":"starter/04_softmax"*"operators":\["softmax"]*' "with their operators"

good=$root/tests/verify/c-cpu/04_softmax.py
sed 's/build/made/' "$good" >"$work/unbuilt.py"
run verify --device cpu --dsl c-cpu --task starter/04_softmax unbuilt.py --no-timing --json
like "$out" '*"verdict":"static_reject"*"rule":"c-build"*' "the static rules come first"
(cd "$work" && "$monkeys" verify --device cpu --dsl c-cpu --task starter/04_softmax unbuilt.py --json >/dev/full 2>"$work/.err")
is $? 4 "a verdict that cannot be written is an error"
run verify --device cpu --dsl triton --task starter/04_softmax --precision bf16 x.py
is $status 2 "bf16 is refused on the CPU"
like "$err" "*the CPU supports only fp32 and tf32*" "… which has fp32 and tf32"
run verify --device cpu --dsl cuda --task starter/04_softmax x.py
is $status 2 "a pack that needs a GPU says so"
like "$err" "*--verifier jobs=DIR*" "… with the way out"
run verify --device cpu --dsl c-cpu --task nothing.py "$good"
is $status 2 "a task that is not there exits 2"
printf 'class Model: pass\n' >"$work/half.py"
run verify --device cpu --dsl c-cpu --task half.py "$good"
like "$err" "*half.py: 'def get_inputs' is missing*" "a file that is no task says what is missing"

# What only its owner may read, and what is taken back.
set -- --device cpu --dsl c-cpu --task starter/04_softmax "$good" --no-timing
run verify "$@" --verifier jobs=hidden
is "$(stat -c %a "$work/hidden/secret")" 600 "the secret of a folder of jobs is its owner's"
cp "$work/hidden/jobs" "$work/jobs.first" && chmod 644 "$work/hidden/secret"
run verify "$@" --verifier jobs=hidden
is "$(stat -c %a "$work/hidden/secret") $(cmp "$work/hidden/jobs" "$work/jobs.first" && echo same)" "600 same" \
    "… also that of an older one, which stays the same"
mkdir "$work/alone"
(cd "$work/alone" && exec "$monkeys" verify "$@" --verifier tcp=127.0.0.1:0 --launcher none >out 2>err) &
until grep -q 'start workers with' "$work/alone/err" 2>/dev/null; do sleep 0.1; done
is "$(cd "$work/alone" && echo *)" "err monkeys-worker-$!.key out" "a key for workers lies where the command was started"
kill -TERM $! && { wait $!; } 2>/dev/null
is "$? $(cd "$work/alone" && echo *)" "143 err out" "… and is removed when the command is stopped"

# What a call does, and where fp32 may be multiplied as TF32.
answers="python3 -B $root/tests/cli/run/answers.py"
trace='{"launches":3,"moves":1,"bytes_read":4096,"bytes_written":2048,"kernels":[{"name":"scale","grid":[8,4],"launches":2,"bytes_read":4096,"bytes_written":1024},{"name":"add","grid":[1],"launches":1,"bytes_read":0,"bytes_written":1024}],"first":{"launches":4,"moves":0,"bytes_read":1,"bytes_written":2,"kernels":[]}}'
run verify --device cpu --dsl c-cpu --task starter/04_softmax "$good" --no-timing --precision tf32 --verifier jobs=traced
grep -aq '"precision":"tf32"' "$work/traced/jobs"
ok "tf32 is a precision of a pack that has fp32"
$answers judge "$work/traced" starter/04_softmax answer "{\"verdict\":\"correct\",\"evidence\":\"E3\",\"trace\":$trace}"
set -- --device cpu --dsl c-cpu --task starter/04_softmax "$good" --no-timing --precision tf32 --verifier jobs=traced
run verify "$@" --trace
is "$out" "$good: correct, E3
    each call: 3 launches, 1 move, at least 4096 bytes read, 2048 written
        scale, grid 8 x 4: 2 launches, 4096 bytes read, 1024 written
        add, grid 1: 1 launch, 0 bytes read, 1024 written
    the first call: 4 launches, 0 moves, at least 1 bytes read, 2 written
Evidence: E0 compiled, E2 passed all trials, E3 passed, and computed by the kernels alone" "--trace shows what a call does"
run verify "$@" --trace --json
like "$out" "*\"trace\":{\"launches\":3,*" "… in JSON, too"
run verify "$@" --json
is "$(printf '%s\n' "$out" | grep -c '"trace"')" 0 "… and only then"
run verify --device cpu --dsl c-cpu --task starter/04_softmax unbuilt.py --trace
like "$out" "*static_reject*    no trace*" "what was not recorded has none"

# One that failed there is asked again.
run verify --device cpu --dsl c-cpu --task starter/04_softmax "$good" --no-timing --verifier jobs=sick
id=$(head -1 "$work/sick/jobs" | cut -d' ' -f3)
sick='{"verdict":"infra","infra":"the disk is full"}'
printf 'monkeys/1 answer %s 0 %s\n%s' "$id" ${#sick} "$sick" >"$work/sick/answers"
run verify --device cpu --dsl c-cpu --task starter/04_softmax "$good" --no-timing --verifier jobs=sick
is "$status $(grep -o 'monkeys/1 job' "$work/sick/jobs" | wc -l)" "4 2" "a job that the machinery failed is written anew"
like "$out" "*infra*the disk is full*" "… the reason is told"
like "$err" "*1 job failed and can be tried again: run 'monkeys-worker*" "… and what helps"

# A worker of another device, and one that is stopped.
run verify --device cuda:0 --dsl triton --task starter/04_softmax "$root/tests/verify/triton/04_softmax.py" --no-timing --verifier jobs=gpu
like "$err" "*monkeys-worker --jobs gpu/jobs --out gpu/answers --device cuda:0*" "the way to answers names the device"
(cd "$work" && "$root/monkeys-worker" ${MONKEYS_PYTHON:+--python "$MONKEYS_PYTHON"} --jobs gpu/jobs --out gpu/answers 2>"$work/.err")
is $? 4 "a worker of another device has no answer"
like "$(cat "$work/.err")" "*it is for cuda:0, and this worker has --device cpu*" "… and says why"
mkdir "$work/until"
(cd "$work" && exec env --default-signal=INT "$root/monkeys-worker" ${MONKEYS_PYTHON:+--python "$MONKEYS_PYTHON"} \
    --jobs sick/jobs --out sick/stopped --scratch until 2>"$work/.err") &
pid=$!
until [ -e "$(echo "$work"/until/*/judge.log)" ]; do kill -0 $pid 2>/dev/null || break; done
kill -INT $pid
wait $pid
is $? 130 "a worker that is stopped says so by its status"
like "$(cat "$work/.err")" "*stopped: 0 of 2 done; run the same command to continue*" "… and in words"

# A worker elsewhere: jobs out, answers in, nothing twice. It verifies all that is written in C.
posted() { run verify --device cpu --dsl c-cpu --verifier jobs=far "$@"; }
right() { posted --list c-cpu.list --no-timing --json; }
three() { posted --list three.list --no-gate --json; }
unjudged() { posted --list unjudged.list --no-timing; }
together starter-c-cpu.list honest-c-cpu.list >"$work/c-cpu.list"
# Three candidates, without the gate: the last task is one that a constant solves.
cat >"$work/nearly.py" <<'END'
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return 1 + 1e-5 * torch.tanh(x)
def get_inputs():
    return [torch.randn(37, 130)]
def get_init_inputs():
    return []
END
{
    printf "$root/tasks/starter/%s.py $good\n" 04_softmax 05_logsumexp
    echo "nearly.py $good"
} >"$work/three.list"
# Two tasks that cannot be judged.
sed 's/1 + 1e-5 .*/x + torch.rand_like(x)/' "$work/nearly.py" >"$work/chance.py"
printf "%s.py $good\n" nearly chance >"$work/unjudged.list"
right
three
unjudged
posted --task starter/04_softmax "$good" --no-timing
is $status 4 "without answers there is no verdict yet"
like "$err" "*monkeys-worker --jobs far/jobs --out far/answers*" "and the way to get them is told"
size=$(wc -c <"$work/far/jobs")
posted --task starter/04_softmax "$good" --no-timing
is "$(wc -c <"$work/far/jobs")" "$size" "a job is written once"
printf 'monkeys/1 job x 0 100\nhalf' >>"$work/far/jobs"
posted --task starter/04_softmax "$good" --no-timing
is "$(wc -c <"$work/far/jobs")" "$size" "a job that was torn is cut off"
# The last job there never ends; as a whole it has 5 seconds.
python3 -B tests/verify/patches.py "$work" 155_c_endless >/dev/null
run verify --device cpu --dsl c-cpu --task "$root/tests/verify/tasks/relu.py" 155_c_endless.py --no-timing --verifier jobs=slow
sed 's#^\(monkeys/1 job [^ ]*\) [0-9]* #\1 5000 #' "$work/slow/jobs" >>"$work/far/jobs"
mkdir "$work/scratch"
chmod 755 "$work" "$work/scratch"
(cd "$work" && umask 077 && "$root/monkeys-worker" ${MONKEYS_PYTHON:+--python "$MONKEYS_PYTHON"} --jobs far/jobs --out far/answers --scratch "$work/scratch" 2>/dev/null)
is $? 0 "the worker answers, whoever may read its user's files"
like "$(cat "$work/far/answers")" '*"verdict": "timeout"*' "a whole job has its deadline, too"
is "$(ls "$work/scratch" | wc -l)" 0 "no scratch folder is left"
posted --task starter/04_softmax "$good" --no-timing
is $status 0 "the same command takes the answer in"
right
is $status 0 "the right candidates of c-cpu: exit status 0"
all starter-c-cpu.list 4 "C kernels for starter tasks"
all honest-c-cpu.list 16 "honest C in unusual styles"
three
like "$out" '{*"verdict":"correct"*"timing":{*"median"*
{*' "a correct kernel is timed"
is $status 1 "a kernel of another task is refused"
like "$out" '*
{*"verdict":"wrong_shape"*
{*' "… for its shape"
like "$out" '*
{*
{*"verdict":"wrong_values"*100.0 % of the values are off*' "who wants a verdict without the gate gets it"
posted --list three.list --no-gate
like "$out" "$good: correct, E3, * ms, * times as fast as PyTorch (* ms)
*" "its time is compared with the reference's"
unjudged
is $status 4 "for tasks that cannot be judged there is no verdict"
like "$out" "*infra*the task cannot be judged: *a constant passes*" "… for one that a constant solves, and the reason is told"
like "$out" "*infra*the task cannot be judged: nondeterministic*" "… nor for one that draws"
printf 'monkeys/1 answer x 0 100\nhalf' >>"$work/far/answers"
(cd "$work" && "$root/monkeys-worker" ${MONKEYS_PYTHON:+--python "$MONKEYS_PYTHON"} --jobs far/jobs --out far/answers 2>"$work/.err")
jobs=$(grep -ao 'monkeys/1 job' "$work/far/jobs" | wc -l)
like "$(cat "$work/.err")" "*$jobs jobs, $jobs already answered*" "started again it does nothing twice"
case $(cat "$work/far/answers") in *half) false ;; *) true ;; esac
ok "and cuts off what was torn"
printf 'nonsense\n' >"$work/far/jobs"
(cd "$work" && "$root/monkeys-worker" ${MONKEYS_PYTHON:+--python "$MONKEYS_PYTHON"} --jobs far/jobs --out far/answers 2>"$work/.err")
is $? 2 "a jobs file that is none is refused"
finish
