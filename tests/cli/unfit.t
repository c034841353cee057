#!/bin/sh
# unfit.t: machines on which nothing can be verified say so once, and why.
. tests/cli/lib.sh
cd "$root" || exit 1
python=${MONKEYS_PYTHON:-$root/.venv/bin/python}
good=$root/tests/verify/c-cpu/04_softmax.py

# attempt CLAIM [ARGS…]: verifies a good kernel where that cannot work.
attempt() {
    claim=$1
    shift
    run verify --device cpu --dsl c-cpu --task starter/04_softmax "$good" --no-timing "$@"
    is $status 4 "$claim: exit status 4"
    like "$out" "*04_softmax.py: infra*" "… no verdict"
}
export MONKEYS_PYTHON=/nonexistent/python
attempt "no Python"
like "$out" "*/nonexistent/python: No such file*" "… it is named"

printf '#!/bin/sh\nexec "%s" -S "$@"\n' "$python" >"$work/bare"
chmod +x "$work/bare"
export MONKEYS_PYTHON="$work/bare"
attempt "a Python without torch"
like "$out" "*has no torch*MONKEYS_PYTHON*" "… that is said, and what helps"
is "$(printf '%s\n' "$err" | grep -c Traceback)" 0 "… without a traceback"
run tasks check starter/04_softmax --device cpu
is "$status" 4 "tasks check has the same status"
like "$out" "starter/04_softmax*not checked: *has no torch*" "… and says that it could not look"
run verify --device cpu --dsl c-cpu --task starter/04_softmax "$good" --no-timing --verifier jobs=far
(cd "$work" && "$root/monkeys-worker" --python "$work/bare" --jobs far/jobs --out far/answers 2>err)
is $? 4 "a worker for a file of jobs ends"
like "$(cat "$work/err")" "*monkeys-worker: the judge cannot start: *has no torch*" "… with the reason"

export MONKEYS_PYTHON="$python"
(cd "$work" && CUDA_VISIBLE_DEVICES=0 "$root/monkeys-worker" --device cuda:1 --jobs far/jobs --out far/answers 2>err)
is $? 2 "a GPU that is not granted"
like "$(cat "$work/err")" "*CUDA_VISIBLE_DEVICES is '0' and has no such GPU*" "… is none"

mkdir "$work/packs"
cp -R packs/c-cpu "$work/packs"
printf '\ndef prepare(mode):\n    raise RuntimeError("no widget; widget-dev has it")\n' >>"$work/packs/c-cpu/adapter.py"
attempt "a pack that cannot work" "$good" "$good" --packs packs
is "$(printf '%s\n' "$out" | grep -c 'the pack c-cpu does not work here: RuntimeError: no widget; widget-dev has it')" 3 \
    "… every candidate hears why"
is "$(printf '%s\n' "$err" | grep -c 'Traceback')" 1 "… and it was tried once"

is "$("$root/monkeys-worker" 3<&- 2>&1)" \
    "monkeys-worker: no jobs: give --jobs FILE and --out FILE, or --connect HOST:PORT and --key FILE (only 'monkeys' passes jobs through a socket)" \
    "a worker without jobs says what it needs"
finish
