#!/bin/sh
# serve.t: monkeys serve, and --serve of run and resume: what is answered and what is not, that
# nothing anybody sends hurts the run, and how it ends.
. tests/cli/lib.sh
. tests/cli/run/lib.sh
talk="python3 -ES $root/tests/cli/serve/talk.py"

# start ARGS…: a server in the background; its address in $url, its process in $pid.
start() {
    : >"$work/url"
    (cd "$work" && exec env -i PATH="$PATH" HOME="$work" ASAN_OPTIONS=detect_leaks=0 "$monkeys" \
        serve --listen 127.0.0.1:0 "$@" >url 2>serve.err) &
    pid=$!
    until [ -s "$work/url" ]; do kill -0 $pid 2>/dev/null || break; done
    url=$(cat "$work/url")
}
# stop SIGNAL: ends it; its exit status in $status.
stop() {
    kill -"$1" $pid
    wait $pid
    status=$?
}
# asks BYTES: the first line of the answer in $out.
asks() { out=$($talk ask "$url" "$1" | head -n 1); }

# ---- a run with hostile names and replies ----
mkdir -p "$work/odd/starter"
evil='<b onclick>&lt;"'
cp $starter/22_mse_loss.py "$work/odd/starter"
cp $starter/01_swish.py "$work/odd/starter/$evil.py"
$answers cassette monkeys "starter/$evil=nn" starter/22_mse_loss=sn >"$work/odd.jsonl"
run run --dsl c-cpu --device cpu --tasks odd/starter --force --attempts 2 --cassette odd.jsonl \
    --verifier jobs=unasked --out odd-run
is $status 0 "a run with a hostile name"

start odd-run
like "$url" "http://127.0.0.1:*/" "the server says where it is"
is "$($talk json "$url" /api/overview "status, o['runs'][0]['tasks'], o['runs'][0]['state']")" \
    "(200, 2, 'finished')" "it answers with the data of the run"
for view in grid archive clusters kernels; do
    is "$($talk json "$url" /api/$view "status, len(o['runs'])")" "(200, 1)" "… $view, too"
done
is "$($talk json "$url" '/api/task?run=0&id=starter/22_mse_loss&attempt=2' "o['attempt']['verdict']")" \
    no_code "… and of one attempt"
is "$($talk json "$url" '/api/task?run=0&id=starter%2F%3Cb%20onclick%3E%26lt;%22' \
    "o['task']")" "starter/$evil" "a hostile name is text like any other"
is "$($talk json "$url" '/api/grid?since=0' "status, o['runs'][0]['places']")" "(200, [0, 1])" \
    "… and what of the grid is new to somebody who has seen nothing"
is "$($talk json "$url" '/api/grid?since=1' "status, o['runs'][0]['places']")" "(200, [])" "… or everything"
is "$($talk get -s "$url" '/api/grid?since=1,1')" 400 "… which names each run"
out=$($talk ask "$url" 'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
like "$out" "HTTP/1.1 200 OK*Content-Security-Policy: default-src 'none'; script-src 'sha256-*frame-ancestors 'none'*Content-Type: text/html*<!DOCTYPE html>*" \
    "the page allows no script but its own"
out=$($talk ask "$url" 'GET /api/grid HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
for line in "Content-Type: application/json" "X-Content-Type-Options: nosniff" "Cache-Control: no-store" \
    "Referrer-Policy: no-referrer" "Content-Security-Policy: default-src 'none'; *frame-ancestors 'none'*" \
    "Cross-Origin-Resource-Policy: same-origin"; do
    like "$out" "*
$line*" "every answer says: $line"
done
out=$($talk ask "$url" 'HEAD /api/grid HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
like "$out" "HTTP/1.1 200 OK*Content-Length: [1-9]*" "HEAD says how long the answer would be"
case $out in *columns*) false ;; esac
ok "… and no more"

# ---- what is refused ----
for method in POST PUT DELETE OPTIONS TRACE PATCH NONSENSE; do
    asks "$method /api/grid HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"
    is "$out" "HTTP/1.1 405 Method Not Allowed" "$method is refused"
done
asks "CONNECT evil.example:80 HTTP/1.1\r\nHost: localhost\r\n\r\n"
like "$out" "HTTP/1.1 4*" "it is no proxy"
asks "POST /api/grid HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\nxxxx"
is "$out" "HTTP/1.1 405 Method Not Allowed" "a large body is not waited for"
for host in evil.example evil.example:8123 127.0.0.1.evil.example localhost.evil.example 10.0.0.1 ''; do
    asks "GET /api/grid HTTP/1.1\r\nHost: $host\r\nConnection: close\r\n\r\n"
    is "$out" "HTTP/1.1 421 Misdirected Request" "the name '$host' is refused"
done
asks "GET /api/grid HTTP/1.1\r\n\r\n"
like "$out" "HTTP/1.1 4*" "so is no name"
for host in localhost LOCALHOST:99 127.0.0.1 '[::1]:8123'; do
    asks "GET /api/grid HTTP/1.1\r\nHost: $host\r\nConnection: close\r\n\r\n"
    is "$out" "HTTP/1.1 200 OK" "the name $host is not"
done
echo "a secret" >"$work/odd-run/secret"
for path in /nothing /api /api/ /api/nothing /api/grid/ //api/grid /odd-run/secret /run.db /../run.db \
    /../../../../../../etc/passwd /%2e%2e/%2e%2e/etc/passwd /..%2f..%2fetc/passwd /api/../run.db \
    '/api/task' '/api/task?id=nothing' '/api/task?id=starter/22_mse_loss&run=1' \
    '/api/task?id=starter/22_mse_loss&run=-1' '/api/task?id=starter/22_mse_loss&attempt=3' \
    '/api/task?id=starter/22_mse_loss&attempt=x' '/api/task?id=../../../etc/passwd'; do
    asks "GET $path HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    is "$out" "HTTP/1.1 404 Not Found" "$path is not there"
done
for path in '/api/grid%00' '/api/%00/grid' '/%' '/%zz' '/a%0d%0aX:%201' '/api/task?id=%ff' 'http://evil.example/' \
    '/api/task?id=a&id=b' '/\xff'; do
    asks "GET $path HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    like "$out" "HTTP/1.1 4*" "$path is refused"
done
long=$(printf '%05000d' 0)
asks "GET /$long HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
like "$out" "HTTP/1.1 414 *" "a target that is too long is refused"
asks "GET /api/grid HTTP/1.1\r\nHost: localhost\r\nX: $long$long$long$long\r\nConnection: close\r\n\r\n"
like "$out" "HTTP/1.1 431 *" "so are headers"
asks "nonsense\r\n\r\n"
like "$out" "" "what is no request is not answered"
is "$($talk get -s "$url" /api/grid)" 200 "after all that it answers as before"

# ---- events ----
$talk events "$url" 2 >"$work/events" &
listener=$!
until [ -s "$work/events" ]; do kill -0 $listener 2>/dev/null || break; done
like "$(cat "$work/events")" 'event: change
data: {"version":1,"runs":\[{"version":1,"state":"finished"}\]}' "a stream begins with the state of the runs"
stop TERM
is $status 0 "SIGTERM ends the server"
wait $listener
like "$(cat "$work/events")" '*
event: end
data: {}' "… which says so to those who listen"
is "$(cat "$work/serve.err")" "" "nothing is said on the way"
start odd-run
stop INT
is $status 0 "so does Ctrl-C"

# ---- a run that is stopped and goes on ----
run run --dsl c-cpu --device cpu $quick --command "$answers command quick.jsonl asked stop" --in-flight 1 --out stopped
is $status 130 "a run is stopped"
start stopped odd-run
$talk events "$url" 2 >"$work/events" &
listener=$!
until [ -s "$work/events" ]; do kill -0 $listener 2>/dev/null || break; done
is "$($talk json "$url" /api/overview "[r['state'] for r in o['runs']]")" "['stopped', 'finished']" \
    "several runs are shown at once"
run resume stopped
is $status 0 "it goes on while it is shown"
wait $listener
like "$(cat "$work/events")" '*"state":"stopped"*
event: change
data: *"version":2*' "… which is noticed"
until [ "$($talk json "$url" /api/overview "o['runs'][0]['state']")" = finished ]; do
    kill -0 $pid 2>/dev/null || break
done
is "$($talk json "$url" /api/overview "o['runs'][0]['state'], o['runs'][0]['attempts']")" "('finished', 4)" \
    "… until its end"
rm -rf "$work/stopped"
run run --dsl c-cpu --device cpu $quick --attempts 1 --cassette quick.jsonl --out stopped
until [ "$($talk json "$url" /api/overview "o['runs'][0]['attempts']")" = 2 ]; do
    kill -0 $pid 2>/dev/null || break
done
is "$($talk json "$url" /api/overview "o['runs'][0]['attempts']")" 2 "a folder that was made again is shown again"
busy=${url#http://}
busy=${busy%/}
run serve --listen "$busy" odd-run
is $status 2 "an address that is in use is refused"
like "$err" "monkeys serve: 127.0.0.1:*: cannot listen: Address already in use" "… and says so"
run serve odd-run nothing
is "$status $err" "2 monkeys serve: nothing: no such folder; name the folder of a run, as 'monkeys run --out DIR' makes it" "a folder that is not there is refused"
run serve
is "$status $err" "2 monkeys serve: give the folder of a run" "so is none"

# ---- beside a run ----
set -- --dsl c-cpu --device cpu $quick
run run "$@" --cassette quick.jsonl --out alone
is $status 0 "a run without a page"
run run --dsl c-cpu --device cpu $quick --cassette quick.jsonl --serve="$busy" --out busy
is $status 0 "a run whose page finds its address in use runs nevertheless"
like "$err" "*no page: $busy: cannot listen: Address already in use; the run continues without one. To see it, run: monkeys serve busy --listen 127.0.0.1:0*" \
    "… and says what to do"
stop TERM
run run "$@" --cassette quick.jsonl --serve=nowhere --out nowhere
is $status 2 "an address that is none is refused"
[ ! -e "$work/nowhere" ]
ok "… before anything is written"
: >"$work/.err"
$talk crowd "$work/.err" 1000 "$work/seen" >"$work/crowd" &
crowd=$!
# Its model answers when they have seen it.
run run "$@" --serve=127.0.0.1:0 --out shown --command \
    "until [ -e seen ] || ! kill -0 $crowd 2>/dev/null; do sleep 0.1; done; $answers command quick.jsonl"
is $status 0 "a run that shows itself to 1,000 idle connections ends"
wait $crowd
is "$(cat "$work/crowd")" "1000 idle, answered, promptly" "… and shows itself to others meanwhile"
is "$(tables shown)" "$(tables alone)" "… with the same tables as without a page"
like "$err" "*the page has ended with the run; to see it again: monkeys serve shown" "… and says how to see it again"
is "$(grep -c '^serve' "$work/shown/run.ini")" 0 "the page is no setting of the run"
run resume shown --serve=127.0.0.1:0
is $status 0 "a run that is continued shows itself, too"
like "$err" "*see the run at http://127.0.0.1:*/*" "… and says where"
run run --dsl c-cpu --device cpu $quick --cassette quick.jsonl --serve --dry-run
is $status 0 "an estimate needs no page"

finish
