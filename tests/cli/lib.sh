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

ok() { # CLAIM, after a test: [ … ]; ok "claim"
    result=$?
    count=$((count + 1))
    if [ $result = 0 ]; then
        echo "ok $count - $1"
    else
        failed=$((failed + 1))
        echo "not ok $count - $1"
        printf '%s\n' "status $status" "$out" "$err" | head -n 20 | sed 's/^/# /'
    fi
}

is() { # GOT WANT CLAIM
    [ "$1" = "$2" ]
    ok "$3"
}

like() { # TEXT PATTERN CLAIM
    case $1 in $2) true ;; *) false ;; esac
    ok "$3"
}

finish() {
    echo "1..$count"
    exit $((failed > 0))
}
