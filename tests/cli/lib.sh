# lib.sh: TAP for the command tests. Sourced with the working folder at the root
# of the tree; each test runs the program under a bare environment in a
# temporary folder.

root=$(pwd)
monkeys=${MONKEYS:-$root/monkeys}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
count=0 failed=0

# Whoever runs the tests may ignore hangups: nohup does.
signals=--default-signal=HUP

# run ARGS…: the program; output in $out and $err, status in $status.
run() {
    (cd "$work" && env -i $signals PATH="$PATH" HOME="$work" ASAN_OPTIONS=detect_leaks=0 \
        ${MONKEYS_PYTHON:+MONKEYS_PYTHON="$MONKEYS_PYTHON"} \
        "$monkeys" "$@") >"$work/.out" 2>"$work/.err" </dev/null
    status=$?
    out=$(cat "$work/.out")
    err=$(cat "$work/.err")
}

# comment LABEL TEXT: up to 20 lines of TEXT as TAP comments; nothing when empty.
comment() { [ -z "$2" ] || printf '%s%s\n' "$1" "$2" | head -n 20 | sed 's/^/# /'; }

# claim RESULT CLAIM: one line of TAP; false when RESULT is not 0.
claim() {
    count=$((count + 1))
    [ "$1" = 0 ] && echo "ok $count - $2" && return
    failed=$((failed + 1))
    echo "not ok $count - $2"
    return 1
}

ok() { # CLAIM, after a test: [ … ]; ok "claim"
    claim $? "$1" || {
        comment "exit status: " "$status"
        comment "output: " "$out"
        comment "errors: " "$err"
    }
}

is() { # GOT EXPECTED CLAIM
    [ "$1" = "$2" ]
    claim $? "$3" || differs "$1" "$2"
}

like() { # GOT PATTERN CLAIM
    case $1 in $2) true ;; *) false ;; esac
    claim $? "$3" || differs "$1" "$2"
}

# differs GOT EXPECTED: both, and what the program said on its error output.
differs() {
    comment "expected: " "$2"
    comment "got:      " "${1:-(nothing)}"
    [ "$1" = "$err" ] || comment "errors:   " "$err"
}

finish() {
    echo "1..$count"
    exit $((failed > 0))
}
