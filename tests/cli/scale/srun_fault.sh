#!/bin/sh
# srun_fault.sh DIR: as fault.sh, for two workers that run under `srun` as the jobs w1
# and w2: kills one's srun, then the other's together with its worker.
dir=$1
n=$(($(cat "$dir/srun.requests" 2>/dev/null || echo 0) + 1))
echo $n >"$dir/srun.requests"

# srun_of JOB: the processes of its srun (there are two). worker_of JOB: what it started.
srun_of() { pgrep -f "^srun .*--job-name=$1 .*--key $dir/srun/worker.key"; }
worker_of() {
    for pid in $(pgrep -f "^[^ ]*monkeys-worker .*--key $dir/srun/worker.key"); do
        tr '\0' '\n' <"/proc/$pid/environ" | grep -qx "SLURM_JOB_NAME=$1" && echo "$pid"
    done
}

case $n in
3) kill -9 $(srun_of w1) && [ -n "$(worker_of w1)" ] && echo "killed srun" >>"$dir/srun.broken" ;;
6)
    pids="$(srun_of w2) $(worker_of w2)"
    kill -9 $pids && echo "killed srun and its worker" >>"$dir/srun.broken"
    ;;
esac
