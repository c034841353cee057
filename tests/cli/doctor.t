#!/bin/sh
# doctor.t: monkeys doctor tells what is there.
. tests/cli/lib.sh

# A pack that works here, and one that does not.
mkdir "$work/packs"
cp -R "$root/packs/quill" "$work/packs"
echo 'print("run: as it says")' >"$work/packs/quill/probe.py"
printf '\ndef prepare(mode):\n    raise RuntimeError("no widget")\n' >>"$work/packs/quill/adapter.py"
run doctor --json --packs packs --dsl triton --dsl quill
for row in libraries python torch gpu namespaces landlock seccomp cgroup sandbox "a run"; do
    like "$out" "*\"name\":\"$row\",\"state\":\"*" "there is a row for $row"
done
like "$out" '*"name":"pack triton","state":"run"*' "the triton pack runs here"
like "$out" '*"name":"verdict triton","state":"yes","detail":"the seed * is correct on cpu, E3"*' "a seed of it was verified"
is $status 1 "a pack whose seed has no verdict exits 1"
like "$out" '*"name":"verdict quill","state":"no","detail":"the seed * is infra on cpu: *no widget*' "… with the reason"
like "$out" '*"name":"a run","state":"no",*' "… although another pack works"

# Where a sandbox looks possible, a verdict decides.
seed=$root/packs/c-cpu/seeds/02_softmax
agrees() { # WHERE WRAPPER…: or, where that is not possible, as it is here
    where=$1
    shift
    "$@" true 2>/dev/null || { where="$where (not possible here)" && set -- env; }
    printf '#!/bin/sh\nexec %s "%s" "$@"\n' "$*" "$root/monkeys" >"$work/wrapped"
    chmod +x "$work/wrapped"
    monkeys=$work/wrapped
    run verify --device cpu --dsl c-cpu --no-timing --task "$seed/task.py" "$seed/solution.py"
    state=no code=1
    [ $status != 0 ] || state=yes code=0
    run doctor --dsl c-cpu
    like "$status $out" "$code *
a run  *$state *" "$where: doctor says what a verdict finds"
    monkeys=$root/monkeys
}
agrees "in a user namespace" unshare -Ur
agrees "without capabilities" setpriv --bounding-set=-all --inh-caps=-all
like "$out" "*torch * yes *2.13.0*" "for people: a table"
is "$(printf '%s\n' "$out" | grep -c '^pack ')" 1 "--dsl: other packs are not tried"
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
