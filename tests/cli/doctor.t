#!/bin/sh
# doctor.t: monkeys doctor tells what is there.
. tests/cli/lib.sh

run doctor --json --dsl c-cpu --dsl triton
is $status 0 "a run would work on a machine that ./setup has prepared"
for row in libraries python torch gpu namespaces landlock seccomp cgroup sandbox "a run"; do
    like "$out" "*\"name\":\"$row\",\"state\":\"*" "there is a row for $row"
done
like "$out" '*"name":"pack triton","state":"run"*' "the triton pack runs here"
like "$out" '*"name":"pack c-cpu","state":"run"*' "the c-cpu pack runs here"
for pack in triton c-cpu; do
    like "$out" "*\"name\":\"verdict $pack\",\"state\":\"yes\",\"detail\":\"the seed * is correct on cpu, E3\"*" \
        "a seed of $pack was verified"
done

# Where a sandbox looks possible, a verdict decides.
seed=$root/packs/c-cpu/seeds/02_softmax
agrees() { # CLAIM WRAPPER…
    claim=$1
    shift
    if ! "$@" true 2>/dev/null; then
        echo "ok $((count += 1)) - $claim # SKIP not possible here"
        return
    fi
    printf '#!/bin/sh\nexec %s "%s" "$@"\n' "$*" "$root/monkeys" >"$work/wrapped"
    chmod +x "$work/wrapped"
    monkeys=$work/wrapped
    run verify --device cpu --dsl c-cpu --no-timing --task "$seed/task.py" "$seed/solution.py"
    found=$status
    run doctor --dsl c-cpu
    is $((status == 0)) $((found == 0)) "$claim: doctor says what a verdict finds"
    monkeys=$root/monkeys
}
agrees "in a user namespace" unshare -Ur
agrees "without capabilities" setpriv --bounding-set=-all --inh-caps=-all

# A pack that does not work here.
mkdir "$work/packs"
cp -R "$root/packs/quill" "$work/packs"
echo 'print("run: as it says")' >"$work/packs/quill/probe.py"
printf '\ndef prepare(mode):\n    raise RuntimeError("no widget")\n' >>"$work/packs/quill/adapter.py"
run doctor --packs packs --dsl c-cpu --dsl quill
is $status 1 "a pack whose seed has no verdict exits 1"
like "$out" "*torch * yes *2.13.0*" "for people: a table"
like "$out" "*verdict quill *no *is infra on cpu: *no widget*" "… with the reason"
like "$out" "*verdict c-cpu *yes *a run *no *" "… although another pack works"
is "$(printf '%s\n' "$out" | grep -c '^pack ')" 2 "--dsl: other packs are not tried"
run doctor --dsl quil
is $status 2 "a pack that is not there exits 2"
like "$err" "*did you mean \"quill\"*" "… and names the nearest"
MONKEYS_PYTHON=/bin/false
run doctor
is $status 1 "without a Python no run would work"
like "$out" "*python *no*MONKEYS_PYTHON*" "… and the remedy is named"
is "$(printf '%s\n' "$out" | awk '/^pack / { print $2 }')" "$(cd "$root/packs" && ls -d */pack.json | cut -d/ -f1 | grep -vx template)" \
    "without --dsl every pack is tried"
run doctor extra
is $status 2 "a word too much exits 2"
finish
