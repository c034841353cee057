#!/bin/sh
# guide.t: monkeys guide build as a user meets it, with a model that follows the
# protocol (tests/cli/guide/model.py): 120 KB of documents through a small window.
. tests/cli/lib.sh
cd "$root" || exit 1
model="python3 -ES $root/tests/cli/guide/model.py"
$model documents "$work/long" 120 4
$model documents "$work/docs" 60 10
window=8000 docs=docs

# build OUT WORDS OPTIONS…: the log of its requests is OUT.log.
build() {
    to=$1 words=$2
    shift 2
    run guide build --dsl quill --sources $docs --out "$to" --window $window --words 1000 \
        --command "$model answer $work/$to.log $window $words" "$@"
}
requests() { wc -l <"$work/$1.log"; }
again() { cut -d' ' -f1,2 "$work/$1.log" | sort | uniq -d | wc -l; }

docs=long
build whole ""
is $status 0 "a guide is built"
like "$out" "whole/guide.md: made from 4 documents with * tokens" "… and the end says from what"
grep -q '`op_3_1`' "$work/whole/guide.md" && grep -q "^## Thinking in" "$work/whole/guide.md"
ok "… with names from the documents, in the layout of a guide"
is "$(awk '$4 > $5' "$work/whole.log" | wc -l)" 0 "no prompt is longer than its reader's window"
[ "$(cut -d' ' -f3 "$work/whole.log" | sort -n | tail -n 1)" -ge 2 ]
ok "a document that is too long for a reader goes to readers below"
before=$(requests whole)
build whole ""
is "$status $(requests whole)" "0 $before" "the same command again asks nothing"

docs=docs window=4000
build shallow "" --depth 0 --words 500
is $status 0 "without readers below it peeks itself"
is "$(cut -d' ' -f3 "$work/shallow.log" | sort -un)" 0 "… and no question goes below"

build recorded "" --record replies.jsonl
run guide build --dsl quill --sources docs --out replayed --window $window --words 1000 \
    --cassette replies.jsonl
is $status 0 "recorded replies build it again"
cmp -s "$work/recorded/guide.md" "$work/replayed/guide.md"
ok "… the same guide"

build few "" --calls 9
[ "$(requests few)" -le 9 ]
ok "no more calls are made than are allowed"

build invented made-up
is $status 0 "a name that no document has is mended"
grep -q op_made_up "$work/invented/guide.md"
[ $? = 1 ]
ok "… and is gone"
build babbling babble
is $status 0 "a reply that is no action is answered with what is wrong, and the work goes on"

build poor "" --price 1,1 --budget-usd 0.04
is $status 3 "a budget that is used up ends it"
like "$err" "*the budget has no room for another call; poor keeps what was read*" "… and says how to continue"
spent=$(requests poor)
build poor "" --price 1,1 --budget-usd 5
is "$status $(again poor)" "0 0" "with more money it goes on, and asks nothing twice"
[ "$(requests poor)" -gt "$spent" ]
ok "… but what was missing"

# Killed in the middle, again and again.
for after in 3 8 14; do
    (cd "$work" && exec env -i PATH="$PATH" HOME="$work" "$monkeys" guide build --dsl quill \
        --sources docs --out killed --window $window --words 1000 --in-flight 2 \
        --command "$model answer $work/killed.log $window") >/dev/null 2>&1 &
    pid=$!
    while kill -0 $pid 2>/dev/null && [ "$(cat "$work/killed.log" 2>/dev/null | wc -l)" -lt $after ]; do
        sleep 0.1
    done
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
done
build killed ""
is $status 0 "a command that was killed three times comes to its end"
[ "$(again killed)" -le 6 ]
ok "… and asks again only what was under way"
cmp -s "$work/killed/guide.md" "$work/recorded/guide.md"
ok "… with the guide of one that was not"

mkdir "$work/empty"
for bad in "--dsl quill --sources nowhere|*nowhere*" "--dsl quill --sources empty|*empty: no document*" \
    "--dsl qill --sources docs|*quill*" "--sources docs|*--dsl is missing*"; do
    run guide build ${bad%%|*} --command true --out bad
    is $status 2 "refused: ${bad%%|*}"
    like "$err" "${bad##*|}" "… with the reason"
done
finish
