# elsewhere.sh: runs of programs of answers.py whose verdicts come as from another host, for tests
# that look at what a run leaves and not at how a verdict is found. Sourced after tests/cli/lib.sh.

# elsewhere OUT ARGS…: a run, to its end.
elsewhere() {
    to=$1 rounds=0
    shift
    run run --verifier jobs=$to-far --out $to "$@"
    while case $status$err in 0*" for answers: run "*) [ $rounds -lt 9 ] ;; *) false ;; esac; do
        rounds=$((rounds + 1))
        python3 -B "$root/tests/cli/run/answers.py" referee "$work/$to-far"
        run resume $to
    done
}
