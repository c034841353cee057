#!/bin/sh
# tokens.t: monkeys tokens: counts, rows, chats, tables of documents, and what is refused. The
# vocabulary has one token per byte, and one for two spaces.
. tests/cli/lib.sh

/usr/bin/python3 - "$work" <<'END'
import base64, sys
tokens = [bytes([b]) for b in range(256)] + [b"  "]
with open(sys.argv[1] + "/v.tiktoken", "w") as f:
    f.writelines(f"{base64.b64encode(t).decode()} {i}\n" for i, t in enumerate(tokens))
END
mkdir -p "$work/d/sub/.hidden"
printf 'ab  c' >"$work/d/a.py"
printf '\303\251' >"$work/d/sub/b.md"
printf 'x' >"$work/d/sub/.hidden/c.md"
printf 'x\000y' >"$work/d/bin.so"

run tokens --vocab v.tiktoken d
is $status 0 "a folder is counted"
like "$out" "*.py  * 1 * 5 * 5 * 5 * 1.00*.md * 1 * 2 * 1 * 2 *total * 2 * 7 * 6 * 7 *" \
    "a line for each extension, and the total"
like "$err" "*d: 1 file not counted: not text*" "files that are not text are left out, and said"
run tokens --vocab v.tiktoken --files d
like "$out" "*5  d/a.py*2  d/sub/b.md*" "--files: a line for each file"
run tokens --vocab v.tiktoken --encode d/a.py
is "$out" "97 98 32 32 99" "--encode: the ids; spaces before a letter are two pieces"
run tokens --vocab v.tiktoken --json --encode d
like "$out" '{"file":"d/a.py","bytes":5,"characters":5,"tokens":5,"ids":?97,*}*{"file":"d/sub/b.md","bytes":2,"characters":1,"tokens":2,"ids":?195,169?}' \
    "--json: an object for each file"

printf '{"t":"a\\u0000b"}\n\n{"t":""}\n' >"$work/r.jsonl"
run tokens --vocab v.tiktoken --json --field t r.jsonl
is "$(printf '%s\n' "$out" | sed 's/,"bytes.*tokens"/,"tokens"/')" \
    '{"file":"r.jsonl","line":1,"tokens":3}
{"file":"r.jsonl","line":3,"tokens":0}' "--field: a member of each row"
run tokens --vocab v.tiktoken --field u r.jsonl
is $status 2 "a row without the member"
like "$err" '*r.jsonl:1: no string "u"; name the member*--field*' "… is named, with the remedy"
printf '{"t":"a"}\n{"t":\n' >"$work/cut.jsonl"
run tokens --vocab v.tiktoken --field t cut.jsonl
is $status 2 "a row that is cut"
like "$err" "*cut.jsonl:2: not JSON*" "… is named"

printf '{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}\n' >"$work/c.jsonl"
run tokens --vocab v.tiktoken --json --chat qwen3-instruct c.jsonl
like "$out" '*"tokens":23}' "--chat: start, role, line end, content, end, line end for each message"
run tokens --vocab v.tiktoken --json --chat qwen3 c.jsonl
like "$out" '*"tokens":29}' "… and a block of thoughts"

mkdir -p "$work/docs/own/lib/guide"
printf 'abc' >"$work/docs/own/lib/guide/one.md"
printf 'de' >"$work/docs/own/lib/README.md"
cat >"$work/sources.json" <<'END'
{"sources": [{"repo": "https://github.com/own/lib.git", "commit": "1", "paths": ["guide", "README.md"], "licence": "MIT"},
             {"repo": "https://site/other/", "commit": "2", "paths": ["index.html"], "licence": "MIT"}]}
END
run tokens --vocab v.tiktoken --table sources.json --root docs
is $status 1 "--table: a document is missing"
like "$out" "*2 * 5 * 5  https://github.com/own/lib.git 1*0 * 0 * 0  https://site/other/ 2*2 * 5 * 5  total*" "the others are counted"
like "$err" "*not found below docs: index.html of https://site/other/*" "… and the missing one is named"
mkdir -p "$work/docs/other"
printf 'f' >"$work/docs/other/index.html"
run tokens --vocab v.tiktoken --table sources.json --root docs --json
is $status 0 "all are there"
like "$out" '*"tokens":5,"missing":??}*"tokens":1,"missing":??}' "an object for each source"
sed 's/README.md/..\/..\/..\/v.tiktoken/' "$work/sources.json" >"$work/out.json"
run tokens --vocab v.tiktoken --table out.json --root docs
is $status 2 "a path that leaves the folder is refused"

run tokens d
is $status 2 "--vocab is required"
like "$err" "*--vocab FILE is missing*" "… and said"
run tokens --vocab r.jsonl d
is $status 2 "a file that is not a vocabulary"
like "$err" "*r.jsonl:*" "… is named"
run tokens --vocab v.tiktoken missing
is $status 2 "a path that does not exist"
like "$err" "*missing: cannot open*" "… is named"
finish
