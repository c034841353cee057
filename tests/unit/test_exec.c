/* test_exec.c: a command answers, well, badly or not at all; keys stay here. */
#include "asking.h"
#include "base/mem.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

static void run(struct asking *a, const char *command)
{
    asking_begin(a, "exec");
    a->opts.command = command;
    asking_open(a);
    if (!a->llm)
        BUG("%s", a->error);
    asking_ask(a, 1, "the \"question\"\n");
}

static void test_answers(void)
{
    struct asking a;

    run(&a, "cat >/dev/null; printf 'just text\\n'");
    ok(a.outcome == LLM_ANSWERED && a.usage.estimated,
       "text is an answer, its usage estimated");
    is(a.text, "just text\n", "as it is");
    asking_end(&a);
    run(&a, "echo '{\"text\": \"t\", \"finish\": \"length\", \"model\": \"x\", "
            "\"usage\": {\"input\": 9, \"output\": 3}}'");
    ok(a.outcome == LLM_ANSWERED && a.finish == LLM_LENGTH &&
           a.usage.input == 9 && a.usage.output == 3 && !a.usage.estimated,
       "JSON says more: usage and finish");
    is(a.text, "t", "and the text");
    is(a.model, "x", "and the model");
    asking_end(&a);
    run(&a, "cat");
    ok(strstr(a.text, "{\"id\":\"") == a.text &&
           strstr(a.text, "\"key\":{\"task\":\"L1/7\",\"method\":\"refine\","
                          "\"stage\":\"code\",\"attempt\":1}") &&
           strstr(a.text, "\"model\":\"test-model\"") &&
           strstr(a.text, "\"messages\":[{\"role\":\"user\",\"content\":"
                          "\"the \\\"question\\\"\\n\"}]"),
       "the request comes on standard input, and JSON without \"text\" is "
       "text");
    asking_end(&a);
    run(&a, "cat | tr , '\\n' | grep -e max_tokens -e temperature -e seed");
    is(a.text,
       "\"max_tokens\":1000\n\"temperature\":0.25\n\"seed\":2147483647}\n",
       "with its settings");
    asking_end(&a);
    run(&a, "printf 'a\\377b\\000c'");
    is(a.text,
       "a\xef\xbf\xbd"
       "b\xef\xbf\xbd"
       "c",
       "bytes that are no text become U+FFFD");
    asking_end(&a);
    run(&a, "echo '{\"error\": \"no such model\"}'");
    ok(a.outcome == LLM_REFUSED, "an error in JSON is a refusal");
    is(a.error, "no such model", "with its words");
    asking_end(&a);
}

static void test_failures(void)
{
    static const struct {
        const char *command, *error;
        enum llm_outcome outcome;
        bool charged;
    } bad[] = {
        {"echo oh dear >&2; exit 3",
         "the command exited with status 3: oh dear (after "
         "1 request)",
         LLM_FAILED, true},
        {"exit 75",
         "the command exited with status 75 (after 1 "
         "request)",
         LLM_FAILED, false},
        {"kill -9 $$",
         "the command was killed by signal 9 (after 1 "
         "request)",
         LLM_FAILED, true},
        {"true", "the command wrote nothing (after 1 request)", LLM_FAILED,
         true},
        {"echo '{\"text\": 3}'",
         "the command's JSON: the string \"text\" is missing (after 1 request)",
         LLM_FAILED, true},
        {"echo '{\"text\": \"x\", \"usage\": {\"input\": 1, \"output\": -1}}'",
         "the command's JSON: usage: \"output\" is not a number of tokens "
         "(after 1 request)",
         LLM_FAILED, true},
        {"head -c 20000000 /dev/zero",
         "the command wrote more than 16777216 bytes (after 1 request)",
         LLM_FAILED, true},
    };
    struct asking a;

    for (size_t i = 0; i < COUNT(bad); i++) {
        run(&a, bad[i].command);
        is(a.error, bad[i].error, bad[i].command);
        ok(a.outcome == bad[i].outcome &&
               (a.budget.spent.tokens > 0) == bad[i].charged,
           "… %s", bad[i].charged ? "may have been billed" : "was not billed");
        asking_end(&a);
    }
    run(&a, "no-such-command-here");
    ok(a.outcome == LLM_REFUSED && a.budget.spent.tokens == 0,
       "a command that is not there is not tried again");
    asking_end(&a);
    asking_begin(&a, "exec");
    a.opts.command = "sleep 1000";
    a.opts.timeout_ms = 30;
    asking_open(&a);
    asking_ask(&a, 1, "q");
    is(a.error, "the command timed out (after 1 request)",
       "there is a deadline");
    asking_end(&a);
    asking_begin(&a, "exec");
    asking_open(&a);
    is(a.error, "the provider exec needs --command COMMAND",
       "the command is asked for");
    asking_end(&a);
}

/* Keys reach neither the child nor any file or text. */
static void test_keys(void)
{
    static const char *const names[] = {"MONKEYS_API_KEY", "OPENAI_API_KEY",
                                        "ANTHROPIC_API_KEY"};
    struct err e = ERR_INIT;
    struct asking a;

    for (size_t i = 0; i < 3; i++)
        setenv(names[i], "sk-this-must-stay-here", 1);
    setenv("HARMLESS", "yes", 1);
    asking_begin(&a, "exec");
    a.opts.command = "{ env; tr '\\0' '\\n' </proc/$$/environ; } |"
                     " grep -aE 'HARMLESS|API_KEY|sk-this'; env >&2";
    asking_open(&a);
    ok(llm_record(a.llm, asking_path(&a, "cassette.jsonl"), NULL, &e) == 0,
       "answers are recorded");
    asking_ask(&a, 1, "q");
    ok(strstr(a.text, "HARMLESS=yes") != NULL, "the child has an environment");
    ok(!strstr(a.text, "sk-this-must") && !strstr(a.text, "API_KEY"),
       "without our keys");
    ok(asking_finds(&a, "HARMLESS=yes") && !asking_finds(&a, "sk-this-must"),
       "a cassette has none either");
    asking_end(&a);
    asking_begin(&a, "exec");
    a.opts.command = "echo sk-this-must-stay-here >&2; exit 9";
    asking_open(&a);
    asking_ask(&a, 1, "q");
    is(a.error,
       "the command exited with status 9: [key] (after 1 "
       "request)",
       "and an error's text hides one that was guessed");
    asking_end(&a);
    asking_begin(&a, "spool");
    a.opts.folder = asking_path(&a, "spool");
    asking_open(&a);
    asking_start(&a, 1, "a question of the spool");
    while (!asking_finds(&a, "a question of the spool"))
        loop_run_for(a.loop, 1000000);
    ok(!asking_finds(&a, "sk-this-must"), "a request's file has none");
    asking_end(&a);
    for (size_t i = 0; i < 3; i++)
        unsetenv(names[i]);
    unsetenv("HARMLESS");
}

SUITE(exec)
{
    test_answers();
    test_failures();
    test_keys();
}
