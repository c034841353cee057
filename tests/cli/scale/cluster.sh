# cluster.sh: a private Slurm of two virtual nodes in $cluster, sourced by a test. It
# needs no service of the system, and leaves nothing behind.

# have_slurm: whether one can be started here.
have_slurm() {
    [ "$(id -u)" = 0 ] && command -v slurmctld >/dev/null && command -v slurmd >/dev/null &&
        command -v munged >/dev/null
}

# free_port: a port that nobody listens on.
free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

start_cluster() {
    cluster=$(mktemp -d) && chmod 755 "$cluster"
    mkdir -m 755 "$cluster/munge" "$cluster/state" "$cluster/spool" "$cluster/log"
    head -c 1024 /dev/urandom >"$cluster/munge/key"
    chmod 600 "$cluster/munge/key"
    node=$(hostname -s)
    cat >"$cluster/slurm.conf" <<EOF
ClusterName=monkeys
SlurmctldHost=$node(127.0.0.1)
SlurmctldPort=$(free_port)
AuthInfo=socket=$cluster/munge/sock,cred_expire=10
SlurmUser=root
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/spool/%n
SlurmctldPidFile=$cluster/state/slurmctld.pid
SlurmdPidFile=$cluster/spool/%n.pid
SlurmctldLogFile=$cluster/log/slurmctld.log
SlurmdLogFile=$cluster/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2,sched_min_interval=0
ReturnToService=2
SlurmdTimeout=10
SlurmctldTimeout=10
KillWait=2
InactiveLimit=10
SlurmdParameters=config_overrides
NodeName=n1 NodeHostname=$node NodeAddr=127.0.0.1 Port=$(free_port) CPUs=4 RealMemory=8000 State=UNKNOWN
NodeName=n2 NodeHostname=$node NodeAddr=127.0.0.1 Port=$(free_port) CPUs=4 RealMemory=8000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
EOF
    export SLURM_CONF="$cluster/slurm.conf"
    munged --force --socket="$cluster/munge/sock" --key-file="$cluster/munge/key" \
        --pid-file="$cluster/munge/pid" --log-file="$cluster/munge/log" \
        --seed-file="$cluster/munge/seed" 2>/dev/null
    start_slurmctld -c
    start_slurmd n1
    start_slurmd n2
    timeout 120 srun -N2 -n2 true 2>/dev/null
}

start_slurmctld() { slurmctld "$@" >/dev/null 2>&1; }
start_slurmd() {
    mkdir -p "$cluster/spool/$1"
    slurmd -N "$1" >/dev/null 2>&1
}

stop_cluster() {
    scancel --user=root 2>/dev/null
    for pid in "$cluster"/spool/*.pid "$cluster/state/slurmctld.pid" "$cluster/munge/pid"; do
        [ -s "$pid" ] && kill "$(cat "$pid")" 2>/dev/null
    done
    for pid in "$cluster"/spool/*.pid "$cluster/state/slurmctld.pid" "$cluster/munge/pid"; do
        while [ -s "$pid" ] && kill -0 "$(cat "$pid" 2>/dev/null)" 2>/dev/null; do sleep 0.1; done
    done
    for pid in $(pgrep -f '^slurmstepd:'); do # of an srun that was killed
        grep -qz "^SLURM_CONF=$cluster/" "/proc/$pid/environ" 2>/dev/null && kill -9 "$pid"
    done
    rm -rf "$cluster"
}
