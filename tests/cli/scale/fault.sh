#!/bin/sh
# fault.sh DIR: breaks something at certain requests to the model, which count in
# DIR/requests. The environment has what cluster.sh made.
. "$(dirname "$0")/cluster.sh"
dir=$1
n=$(($(cat "$dir/requests" 2>/dev/null || echo 0) + 1))
echo $n >"$dir/requests"

# The workers of the run in DIR.
workers() { pgrep -f -- "--key $dir/[^ ]*worker.key"; }
say() { echo "$*" >>"$dir/broken"; }

case $n in
3)
    pid=$(workers | head -n 1)
    kill -9 "$pid" && say "killed a worker"
    ;;
5)
    pid=$(workers | tail -n 1)
    kill -STOP "$pid" && echo "$pid" >"$dir/frozen" && say "froze a worker"
    ;;
7)
    kill -9 "$(cat "$cluster/state/slurmctld.pid")" && say "killed slurmctld"
    rm -f "$cluster/state/slurmctld.pid"
    start_slurmctld
    ;;
8)
    kill -9 "$(cat "$cluster/spool/n1.pid")" && say "killed a slurmd and the workers"
    workers | while read -r pid; do kill -9 "$pid"; done
    rm -f "$cluster/spool/n1.pid"
    start_slurmd n1
    ;;
esac
