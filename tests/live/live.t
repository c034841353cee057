#!/bin/sh
# live.t: a real language model, end to end: asked whole, streamed and for
# vectors, then a short run. The model is much too small to write a kernel: what
# is tested is that every call and every attempt is counted, free and judged.
. tests/cli/lib.sh
python=$root/.venv-live/bin/python
[ -x "$python" ] || { echo "Bail out! no .venv-live: run ./setup live"; exit 1; }

# field NAME: a number or a word of the JSON object in $out.
field() {
    printf '%s\n' "$out" | sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p" | head -n 1
}
say() { printf '# %s\n' "$*"; }
now_ms() { date +%s%3N; }

mkfifo "$work/port"
begun=$(now_ms)
"$python" tests/live/server.py >"$work/port" 2>"$work/server.err" &
server=$!
trap 'kill $server 2>/dev/null; wait $server; rm -rf "$work"' EXIT
read -r port <"$work/port" || { sed 's/^/# /' "$work/server.err"; echo "Bail out! the server does not start"; exit 1; }
v1=http://127.0.0.1:$port/v1
/usr/bin/python3 -c 'import sys, urllib.request
sys.exit(b"ok" not in urllib.request.urlopen(sys.argv[1], timeout=60).read())' "http://127.0.0.1:$port/health"
ok "the server is well"
say "ready after $(($(now_ms) - begun)) ms"

# ---- one call of each kind ---------------------------------------------------
for stream in "" --stream; do
    run llm ping --json --base-url $v1 --model smollm2 --price 0,0 --max-tokens 32 $stream
    is $status 0 "chat${stream:+, streamed}: answered"
    is "$(field provider) $(field outcome) $(field model)" "openai answered smollm2" "… by the model"
    [ "$(field input)" -gt 10 ] && [ "$(field output)" -gt 0 ] && [ "$(field output)" -le 32 ]
    ok "… with tokens in and out"
    is "$(field estimated) $(field usd_micro) $(field requests)" "false 0 1" "… that the server told, free, in one request"
    say "$(field input) tokens in, $(field output) out, $(field wall_ms) ms"
done
run llm ping --embeddings --json --base-url $v1 --model smollm2
is $status 0 "embeddings: answered"
is "$(field dim)" 576 "… with a vector of the model's width"
[ "$(field tokens)" -gt 0 ]
ok "… and tokens"
say "$(field tokens) tokens, $(field wall_ms) ms"

# ---- a run -------------------------------------------------------------------
begun=$(now_ms)
run run --tasks "$root/tasks/starter/01_swish.py" --tasks "$root/tasks/starter/05_logsumexp.py" \
    --dsl c-cpu --device cpu --out out --method monkeys --retrieval similar --attempts 2 --examples 1 --no-card \
    --base-url $v1 --model smollm2 --price 0,0 --max-tokens 200 --in-flight 1 --retries 0 --timeout 3600 \
    --embeddings $v1 --embedding-model smollm2
is $status 0 "a run ends when the attempts are used up"
say "$(($(now_ms) - begun)) ms"
printf '%s\n' "$out" | sed 's/^/# /'
run status --json out
say "$out"
is "$(field tasks) $(field skipped) $(field attempts)" "2 0 4" "every attempt is counted"
is "$(field calls) $(field answered) $(field failed) $(field lost)" "8 8 0 0" "… with a plan and a program each"
is "$(field usd_micro) $(field estimated)" "0 false" "… free, by the server's own count of tokens"
[ "$(field tokens_in)" -gt 8000 ] && [ "$(field tokens_out)" -gt 0 ] && [ "$(field tokens_out)" -le 1600 ]
ok "… within the limit of tokens"
judged=$(($(printf '%s\n' "$out" | sed 's/.*"verdicts"://' | grep -o '[0-9][0-9]*' | paste -sd+)))
is "$judged $(field infra)" "4 0" "every attempt has a verdict, none of them our fault"
run status --tasks --json out
is "$(printf '%s\n' "$out" | grep -c '"attempts":2,.*"shown":\["')" 2 "both tasks were shown an example"

# The vectors were the server's, and are kept.
is "$(/usr/bin/python3 -c 'import sqlite3, sys
print(*sqlite3.connect(sys.argv[1]).execute("SELECT count(*), min(length(v)), max(length(v)), max(source) FROM vector").fetchone())' \
    "$work/out/run.db")" "5 2304 2304 smollm2" "nearness was measured by vectors of the server"
run resume out
is $status 0 "a run that is done can be resumed"
run status --json out
is "$(field attempts) $(field calls)" "4 8" "… and nothing is asked again"

kill $server
wait $server
is $? 0 "the server stops when it is told to"
finish
