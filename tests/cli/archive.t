#!/bin/sh
# archive.t: solved kernels as files: listed, shown, copied, added.
. tests/cli/lib.sh
seeds=$root/packs/c-cpu/seeds

run archive list "$seeds"
is $status 0 "the seeds of a pack are an archive"
like "$out" "01_matmul *verified*" "… a line for each kernel"
run archive list "$seeds" --json
like "$out" '{"name":"01_matmul",*' "… or a JSON object"
run archive show "$seeds" 01_matmul
like "$out" "*## Task*## Plan*## Solution*class ModelNew*" "a kernel is shown with task and plan"
run archive show "$seeds" 01_matmul --json
like "$out" '{"name":"01_matmul",*"problem":"*"solution":"*' "… or as a JSON object"
is "$(wc -l <"$work/.out")" 1 "… on one line"
run archive show "$seeds" none
is $status 2 "one that is not there exits 2"
like "$err" "*no kernel none; 'monkeys archive list *" "… and says where to look"

run archive import "$seeds" -o mine
like "$out" "* kernels written to mine, 0 were there already" "archives are added to another"
run archive import "$seeds" -o mine --json
like "$out" '{"archive":"mine","written":0,"known":*' "… once"
run archive import nowhere -o other
is $status 2 "a folder that is not there exits 2"
[ ! -e "$work/other" ]
ok "… and leaves nothing"

right=$root/tests/verify/c-cpu/04_softmax.py
run archive add --dsl c-cpu --task starter/04_softmax -o own "$right" --json
is $status 0 "a right kernel joins"
like "$out" '{"file":"*","added":true,"verdict":"correct","evidence":"E3",*"name":"starter-04_softmax"}' \
    "… and says so as a JSON object"
run archive add --dsl c-cpu --task starter/04_softmax -o own "$right"
is $status 2 "a second one for the same task is refused"
run archive add --dsl c-cpu --task starter/01_swish -o none "$right" --json
is $status 1 "a wrong one exits 1"
like "$out" '{"file":"*","added":false,"verdict":"wrong_*' "… with its verdict"
[ ! -e "$work/none" ]
ok "… and leaves nothing"
touch "$work/file"
run archive add --dsl c-cpu --task starter/01_swish -o file "$right"
is $status 2 "an archive is a folder"
finish
