#!/bin/sh
# llm.t: asking a model, its price and its budget; recording; batch files;
# vectors.
. tests/cli/lib.sh
answer='{"text": "pong", "model": "m-1", "usage": {"input": 100, "cached": 40, "output": 10}}'

run llm ping --command "printf %s '$answer'"
is $status 0 "a command answers"
like "$out" "exec m-1 answered in * s (1 request): pong*" "… with its model and text"
like "$out" "*tokens: 100 in (40 cached), 10 out (0 reasoning)*" "… and its usage"
run llm ping --json --price 2.50,10,0.25 --command "printf %s '$answer'"
like "$out" '{"provider":"exec","outcome":"answered","model":"m-1","text":"pong","finish":"stop","usage":{"input":100,"cached":40,"output":10,"reasoning":0,"estimated":false},"usd_micro":260,*' \
    "JSON: usage and cost, exactly"
run llm ping --price 2.50,10,0.25 --command "printf %s '$answer'"
like "$out" '*cost: $0.000260*' "the cost in words"
run llm ping --command "printf '\\033]0;title\\007pong\\nmore'"
case $out in *"$(printf '\033')"*) false ;; *pong*) ;; esac
ok "an answer cannot move the cursor"

run llm ping --command "echo pong" --price 1,2 --budget-usd 0.0001
is $status 3 "what could pass the budget exits 3"
run llm ping --command "echo pong" --budget-tokens 10
is $status 3 "in tokens, too"
run llm ping --command "echo pong" --budget-usd 1e3
is $status 2 "a budget is an amount of dollars"
run llm ping --command "echo pong" --budget-usd 1 --no-cap
is $status 2 "a cap and none do not go together"
run llm ping --command "echo pong" --price 1
is $status 2 "half a price is none"
run llm ping --command "exit 7" --retries 0
is $status 4 "a command that fails exits 4"
like "$err" "*status 7 (after 1 request)*" "… and says how"
run llm ping --command no-such-command-here
is $status 2 "one that is not there exits 2"
run llm ping --command "sleep 100" --timeout 1 --retries 0
is $status 4 "one that hangs ends by its deadline"
run llm ping --command cat --spool x
is $status 2 "two providers at once exit 2"
run llm ping --command cat --provider replay
like "$err" "*--command works with the provider exec, not replay*" "… as does the wrong one"
run llm ping --provider nobody
like "$err" "*unknown provider 'nobody'*exec*" "an unknown one is named"
run llm ping --command cat --extra-body '[1]'
is $status 2 "--extra-body is an object"
run llm ping --command cat --temperature hot
is $status 2 "--temperature is a number"
run llm ping --command cat extra
is $status 2 "words that are no options are refused"

for name in c.jsonl c.jsonl.zst; do
    run llm ping --command "printf %s '$answer'" --record $name
    is $status 0 "$name: an answer is recorded"
    run llm ping --cassette $name --replay-strict
    like "$out" "replay m-1 answered *: pong*" "… and comes back"
done
run llm ping --cassette missing.jsonl
is $status 2 "a cassette that is not there exits 2"
printf '{"cassette":1}\n' >"$work/empty.jsonl"
run llm ping --cassette empty.jsonl
is $status 2 "one without the answer, too"
like "$err" "*empty.jsonl has no answer for ping (ping, ping, attempt 1)*" "… and says which"

# A folder: the question waits, goes out as a batch, comes back, is answered.
(cd "$work" && exec timeout 300 "$monkeys" llm ping --spool folder --model m >spool.out 2>&1) &
pid=$!
until ls "$work"/folder/requests/*.json >/dev/null 2>&1; do
    kill -0 $pid 2>/dev/null || break
done
id=$(basename "$work"/folder/requests/*.json .json)
run llm batch-export folder -o batch.jsonl
is $status 0 "open requests go out"
like "$out" "batch.jsonl: 1 requests (0 already answered, 0 already claimed)" "… counted"
like "$(cat "$work/batch.jsonl")" "{\"custom_id\":\"$id\",\"method\":\"POST\",\"url\":\"/v1/chat/completions\",\"body\":{\"model\":\"m\",\"messages\":*" "… as a batch's line"
run llm batch-export folder -o batch.jsonl --json
is "$out" '{"file":"batch.jsonl","written":0,"answered":0,"claimed":1}' "… once"
printf '{"custom_id":"%s","response":{"status_code":200,"body":{"model":"m-2","choices":[{"message":{"content":"from afar"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}}}\n' "$id" >"$work/result.jsonl"
run llm batch-import folder result.jsonl --json
is "$out" '{"file":"result.jsonl","answered":1,"refused":0,"again":0,"known":0,"unknown":0}' "results come in"
wait $pid
is $? 0 "the question is answered"
like "$(cat "$work/spool.out")" "spool m-2 answered *: from afar*" "… by the batch"
run llm batch-import folder
is $status 2 "a batch's file is asked for"
run llm batch-import nowhere result.jsonl
is $status 2 "so is the folder"
run llm batch-export nowhere -o x.jsonl
is $status 2 "a folder that is not there exits 2"

# Vectors, from a server on this machine.
mkfifo "$work/port"
python3 tests/llm/server.py >"$work/port" &
server=$!
trap 'kill $server; rm -rf "$work"' EXIT
read -r port <"$work/port"
v1=http://127.0.0.1:$port/v1
run llm ping --embeddings --base-url $v1 --model m
is $status 0 "an endpoint gives a vector"
like "$out" "openai m answered in * s: a vector of 3 dimensions*tokens: 4 in" "… with its time, length and tokens"
run llm ping --embeddings --json --base-url $v1 --model m
like "$out" '{"provider":"openai","outcome":"answered","model":"m","dim":3,"tokens":4,"wall_ms":*,"error":""}' "… as JSON"
run llm ping --embeddings --json --base-url $v1 --model m+status=429
is $status 4 "one that is busy exits 4"
like "$out" '{"provider":"openai","outcome":"failed","model":"m+status=429","dim":0,"tokens":0,*"error":"*busy*"}' "… with the complaint"
run llm ping --embeddings --base-url $v1 --model m+status=404
is $status 2 "one that refuses exits 2"
is "$out" "" "… and no vector is shown"
run llm ping --embeddings --json --base-url $v1 --model m+value=1e999
is $status 4 "a vector that is not finite is none"
like "$out" '{"provider":"openai","outcome":"failed",*"dim":0,*}' "… also as JSON"
run llm ping --embeddings --base-url $v1 --model m+never --timeout 1
is $status 4 "an endpoint that says nothing ends by its deadline"
run llm ping --embeddings --base-url $v1
is $status 2 "a model must be named"
run llm ping --embeddings --provider anthropic --model m
is $status 2 "who has no embeddings is not asked for them"
for other in "--command cat" "--spool x" "--cassette x" "--record x" --stream; do
    run llm ping --embeddings --model m $other
    like "$err" "*--embeddings and ${other%% *} cannot be combined*" "--embeddings does not go with ${other%% *}"
done
# A worker that speaks up meanwhile (its Python ends at once) ends no waiting.
MONKEYS_PYTHON=/bin/false
run run --tasks "$root/tasks/starter/01_swish.py" --dsl c-cpu --device cpu --out vectors --attempts 1 --force \
    --command "echo nothing" --embeddings $v1 --embedding-model m+delay=1
is $status 0 "a run waits for its vectors, whatever its worker says"
run status --json vectors
like "$out" '*"attempts":1,*"no_code":1,*' "… and then makes its attempts"

# Keys in the environment stay there.
key=sk-do-not-tell-anybody
for name in MONKEYS_API_KEY OPENAI_API_KEY ANTHROPIC_API_KEY; do
    export $name=$key
done
(cd "$work" && "$monkeys" llm ping --command "env; echo $key >&2; exit 5" --retries 0 \
    --record keys.jsonl >keys.out 2>keys.err)
like "$(cat "$work/keys.err")" "*status 5: \[key\]*" "a key is not in a message"
(cd "$work" && "$monkeys" llm ping --command "env" --record keys.jsonl >keys.out 2>&1)
grep -rq PATH= "$work/keys.jsonl" && ! grep -rqF "$key" "$work"/keys.* "$work/folder"
ok "nor in an answer, a cassette or a folder"
finish
