#!/bin/sh
# prompt.t: monkeys prompt: what would be sent, and what is wrong with asking.
. tests/cli/lib.sh
seed=$root/packs/c-cpu/seeds/02_softmax
show="prompt --dsl c-cpu --task starter/04_softmax"

run $show --stage plan
is $status 0 "a plan's prompt"
like "$out" "==== system: about * tokens, * bytes, the first * shared by many prompts ====*<dsl_overview>*==== user: *<context>*<task_to_be_optimized>*torch.softmax*<precision>*fp32*==== about * tokens, hash * ====" "has its sections in order"
case $out in *"Solution Code"*) false ;; esac
ok "… and no solutions"
run $show --examples 1 --plan "$seed/plan.md"
like "$out" '*example number="1"*Solution Code*<implementation_plan>*' "code is the default; it has solutions and the plan"
case $out in *'example number="2"'*) false ;; esac
ok "as many examples as were asked for"
run $show --examples 0
case $out in *"<context>"*) false ;; esac
ok "none leaves no section"

echo 'line 3: boom' >"$work/feedback"
run $show --stage plan --previous "$seed/solution.py" --verdict compile_error --feedback feedback
like "$out" "*<previous_attempts>*ended with the verdict compile_error*softmax_rows_kernel*line 3: boom*</previous_attempts>*" "refinement shows code, verdict and feedback"
run $show --stage evolve --diff --previous "$seed/solution.py" --verdict wrong_values --feedback feedback
like "$out" "*==== user*<current_program>*softmax_rows_kernel*line 3: boom*<<<<<<< SEARCH*" "evolution shows the parent and asks for edits"
run $show --stage evolve
like "$out" "*The program to start from*class Model(nn.Module)*one fenced block*" "without a parent it starts from the task"
run $show --stage review --solution "$root/packs/c-cpu/seeds/01_matmul/solution.py"
like "$out" '*"score"*<reference>*torch.softmax*<program>*matmul_kernel*' "the reviewer sees reference and program"
case $out in *"/*"*) false ;; esac
ok "… without comments"
run $show --stage borrowing --solution "$seed/solution.py" --examples 2
like "$out" '*"borrowed"*<target*0001: import torch*<parent id="1" name="01_matmul">*<parent id="2"*' "borrowing: numbered lines of target and parents"
run $show --stage decompose
like "$out" '*"subproblems"*torch.softmax*"coarse": about 2 pieces*' "decomposition"
run $show --define num_features=65 --stage plan
like "$status $out" "0 *<task_to_be_optimized>*num_features = 65*" "--define sets a size of the task"

run $show --json --no-card --precision bf16 --device cuda:0
is $status 0 "JSON"
like "$out" '{"task":"starter/04_softmax","dsl":"c-cpu","stage":"code","hash":"*","tokens":*,"messages":[[]{"role":"system","text":"*","shared":*,"tokens":*},{"role":"user","text":"*bf16 (torch.bfloat16) on cuda:0*"shared":0,*}[]]}' "one object with the documented fields"
case $out in *"C on the CPU: card"*) false ;; esac
ok "the card is left out"

echo 'A guide of one line.' >"$work/short.md"
run $show --guide short.md
like "$out" '*<dsl_overview>?A guide of one line.?*# C on the CPU: card*' "another guide takes the place of the pack's"

refuse() { # PATTERN CLAIM ARGS…
    pattern=$1 claim=$2
    shift 2
    run "$@"
    [ $status = 2 ] && [ -z "$out" ]
    ok "$claim: exit 2, nothing on stdout"
    like "$err" "$pattern" "… and says so"
}
refuse "*--dsl ID is missing*" "no pack" prompt --task starter/04_softmax
refuse "*--task TASK is missing*" "no task" prompt --dsl c-cpu
refuse "*nowhere.py*" "no such task" prompt --dsl c-cpu --task nowhere.py
refuse "*--plan cannot be used with --stage plan*" "an option of another stage" $show --stage plan --plan "$seed/plan.md"
refuse "*needs --verdict*" "an attempt without a verdict" $show --previous "$seed/solution.py"
refuse "*need --previous*" "feedback on nothing" $show --feedback feedback
refuse "*--define features=65: no task has such a line*04_softmax has batch_size, num_features*" "a size that the task does not have" $show --define features=65
refuse "*needs --solution*" "nothing to review" $show --stage review
refuse "*the pack c-cpu has only 3*" "more examples than there are" $show --examples 4
refuse "*missing.md*" "a file that is not there" $show --plan missing.md
refuse "*missing.md*" "a guide that is not there" $show --guide missing.md
refuse "*is not an option*" "a word too many" $show extra

cp -R "$root/prompts" "$work/mine"
echo 'Short: {{task}}' >"$work/mine/decompose.md"
refuse "*mine/decompose.md:1: {{fence}} is not used*" "a template that drops what it should send" $show --prompts mine --stage decompose
echo '{{#name}}{{fence}}{{trace}}{{proposal}}{{level}}{{number}}{{refusals}}{{reply}} Short: {{task}}' >"$work/mine/decompose.md"
refuse "*mine/decompose.md:1: section {{#name}} is not closed*" "an open section" $show --prompts mine --stage decompose
echo '{{name}}{{fence}}{{trace}}{{proposal}}{{level}}{{number}}{{refusals}}{{reply}} Short: {{task}}' >"$work/mine/decompose.md"
run $show --prompts mine --stage decompose
like "$out" "*Short: import torch*" "templates of one's own"
finish
