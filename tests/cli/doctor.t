#!/bin/sh
# doctor.t: monkeys doctor tells what is there.
. tests/cli/lib.sh

run doctor --json
is $status 0 "a run would work on a machine that ./setup has prepared"
for row in libraries python torch gpu namespaces landlock seccomp cgroup sandbox "a run"; do
    like "$out" "*\"name\":\"$row\",\"state\":\"*" "there is a row for $row"
done
like "$out" '*"name":"pack triton","state":"run"*' "the triton pack runs here"
like "$out" '*"name":"pack c-cpu","state":"run"*' "the c-cpu pack runs here"
run doctor
like "$out" "*torch * yes *2.13.0*" "for people: a table"
MONKEYS_PYTHON=/bin/false
run doctor
is $status 1 "without a Python no run would work"
like "$out" "*python *no*MONKEYS_PYTHON*" "… and the remedy is named"
run doctor extra
is $status 2 "a word too much exits 2"
finish
