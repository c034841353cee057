#!/bin/sh
# slurm.t: a run whose workers a real Slurm starts, on two virtual nodes, comes to
# the same as one without, also when workers and daemons are killed and frozen.
. tests/cli/lib.sh
. tests/cli/run/lib.sh
. tests/cli/scale/cluster.sh
have_slurm || {
    echo "1..0 # SKIP needs root, slurm-wlm and munge"
    exit 0
}
start_cluster
trap 'stop_cluster; rm -rf "$work"' EXIT
set -- --dsl c-cpu --device cpu --children 1

# on_cluster ARGS…: as run, with what Slurm's commands need.
on_cluster() {
    (cd "$work" && env -i $signals PATH="$PATH" HOME="$work" SLURM_CONF="$SLURM_CONF" \
        cluster="$cluster" ${MONKEYS_PYTHON:+MONKEYS_PYTHON="$MONKEYS_PYTHON"} \
        "$monkeys" "$@") >"$work/.out" 2>"$work/.err" </dev/null
    status=$?
    out=$(cat "$work/.out")
    err=$(cat "$work/.err")
}
gone() { # whether no worker of a run is left
    for i in $(seq 600); do
        pgrep -f -- "--key $work/$1/worker.key" >/dev/null || return 0
        sleep 0.1
    done
    return 1
}

run run "$@" $real --cassette real.jsonl --out local
is $status 0 "a run with a worker of its own"
before=$(tables local)

on_cluster run "$@" $real --cassette real.jsonl --launcher slurm --workers 2 --out slurm
is $status 0 "the same with workers that Slurm starts"
like "$err" "*2 workers submitted to Slurm as job *worker *joined: cpu, 2 jobs at a time*" "… which join"
is "$(tables slurm)" "$before" "… comes to the same"
is "$(stat -c %a "$work/slurm/worker.key")" 600 "… the secret is its owner's"
grep -rq "$(cat "$work/slurm/worker.key")" "$work"/slurm/run.db "$work"/slurm/run.ini "$work"/slurm/*.log
[ $? = 1 ]
ok "… and is in no other file"
gone slurm
ok "… and no worker is left"

on_cluster run "$@" $real --launcher slurm --workers 2 --heartbeat 5 --in-flight 1 \
    --command "sh $root/tests/cli/scale/fault.sh $work; $answers command real.jsonl asked" --out faults
is $status 0 "with workers and daemons killed and frozen"
is "$(grep -c . "$work/broken")" 4 "… in four ways"
is "$(tables faults)" "$before" "… it comes to the same"
is "$(sort "$work/asked" | uniq -d | wc -l)" 0 "… and asks nothing twice"
[ ! -s "$work/frozen" ] || kill -CONT "$(cat "$work/frozen")" 2>/dev/null
gone faults
ok "… and no worker is left, the frozen one neither"

# ---- workers under srun ----
# Slurm ends the worker of an srun that was killed, some time later; who started it starts
# it again, until it ends because the run has ended.
port=$(free_port)
for name in w1 w2; do
    (
        until [ -s "$work/srun/worker.key" ]; do sleep 0.1; done
        while [ -d "$work/srun" ] && [ ! -e "$work/srun.over" ]; do
            srun -n1 --job-name=$name "$root/monkeys-worker" --connect 127.0.0.1:$port \
                --key "$work/srun/worker.key" --children 1 --retry 5 && break
        done
    ) >"$work/$name.log" 2>&1 </dev/null &
done
on_cluster run "$@" $real --launcher none --verifier tcp=127.0.0.1:$port --heartbeat 5 --in-flight 1 \
    --command "sh $root/tests/cli/scale/srun_fault.sh $work; $answers command real.jsonl srun.asked" --out srun
touch "$work/srun.over"
is $status 0 "with workers under srun, which is killed"
is "$(cat "$work/srun.broken")" "killed srun
killed srun and its worker" "… alone, and with its worker"
is "$(tables srun)" "$before" "… it comes to the same"
is "$(sort "$work/srun.asked" | uniq -d | wc -l)" 0 "… and asks nothing twice"
gone srun
ok "… and no worker is left"
run status --workers srun
like "$out" "*worker *cpu*l[eo][fs]t*" "… and who worked can be seen afterwards"

on_cluster verify --dsl c-cpu --device cpu --task four/starter/01_swish.py \
    "$root/tests/verify/c-cpu/01_swish.py" --launcher slurm --slurm-args "--partition=none"
is $status 2 "what Slurm refuses is bad input"
like "$err" "*sbatch did not accept the workers: *partition*" "… with its own words"
finish
