/* test_review.c: what the reviewer is shown, and what its answers say. */
#include "pack/pack.h"
#include "prompt/ask.h"
#include "tap.h"

#include <string.h>

static bool has(struct str text, const char *part)
{
    return memmem(text.p, text.n, part, strlen(part)) != NULL;
}

static void test_question(const struct prompts *p, const struct pack *pack)
{
    struct review_input in = {
        pack, STR_LIT("the-task"),
        STR_LIT("\"\"\"Honest.\"\"\"\nS = r'''int f() { /* trust me */ return "
                "1; }'''\nx = 1  # all is well\n"),
        "fp32"};
    struct err e = ERR_INIT;
    struct prompt one, two;
    char a_key[HASH_HEX], b_key[HASH_HEX];
    struct arena a = {0};

    ok(review_build(p, &in, &a, &one, &e) == 0 && one.count == 2,
       "two messages");
    ok(has(one.message[1].text, "the-task") &&
           has(one.message[1].text, "return 1;") &&
           has(one.message[1].text, pack->prompt_name),
       "task, program and language are shown");
    ok(!has(one.message[1].text, "Honest") &&
           !has(one.message[1].text, "well") &&
           !has(one.message[1].text, "trust me"),
       "what could only persuade is not");
    in.solution = STR_LIT("S = r'''int f() { return 1; }'''\nx = 1\n");
    review_key("m", &one, a_key);
    ok(review_build(p, &in, &a, &two, &e) == 0, "another program");
    review_key("m", &two, b_key);
    ok(strcmp(a_key, b_key) != 0, "is another key");
    review_key("n", &one, b_key);
    ok(strcmp(a_key, b_key) != 0, "another model is, too");
    review_key("m", &one, b_key);
    is(b_key, a_key, "the same question to the same model is the same");
    in.precision = "int4";
    ok(review_build(p, &in, &a, &two, &e) < 0, "an unknown precision: %s",
       e.text);
    arena_release(&a);
}

static void answer(const char *reply, double score, size_t reasons)
{
    struct err e = ERR_INIT;
    struct review r;
    struct arena a = {0};

    ok(review_parse(str_of(reply), &a, &r, &e) == 0 && r.score == score &&
           r.reason_count == reasons,
       "a score of %.2f with %zu reasons: %s", score, reasons, e.text);
    arena_release(&a);
}

static void no_answer(const char *reply, const char *why)
{
    struct err e = ERR_INIT;
    struct review r;
    struct arena a = {0};

    ok(review_parse(str_of(reply), &a, &r, &e) < 0 && e.kind == ERR_INPUT &&
           strstr(e.text, why),
       "to be asked again: %s", e.text);
    arena_release(&a);
}

static void test_answers(void)
{
    struct err e = ERR_INIT;
    struct review r;
    struct arena a = {0};

    answer(review_shape, 0.95, 1);
    answer("```json\n{\"score\": 1, \"reasons\": []}\n```", 1, 0);
    answer("I think {\"score\": 0.0, \"summary\": \"a\", \"reasons\": [\"b\", "
           "\"c\"]}",
           0, 2);
    no_answer("It is fine.", "no complete JSON");
    no_answer("{\"score\": 1.5, \"reasons\": []}", "between 0 and 1");
    no_answer("{\"score\": -0.1, \"reasons\": []}", "between 0 and 1");
    no_answer("{\"score\": \"1\", \"reasons\": []}", "not a number");
    no_answer("{\"score\": true, \"reasons\": []}", "not a number");
    no_answer("{\"reasons\": []}", "not a number");
    no_answer("{\"score\": 1}", "reasons");
    no_answer("{\"score\": 1, \"reasons\": [2]}", "reasons");
    no_answer("{\"score\": 1, \"reasons\": \"x\"}", "reasons");
    no_answer("{\"score\": 1, \"summary\": 3, \"reasons\": []}", "summary");
    no_answer("[1]", "not an object");
    ok(review_parse(str_of(review_shape), &a, &r, &e) == 0, "the example");
    is(r.summary, "one sentence", "its summary");
    is(r.reason[0], "what was found", "its reason");
    arena_release(&a);
}

SUITE(review)
{
    const char *dirs[] = {"packs"};
    const struct pack_path path = {dirs, 1};
    struct err e = ERR_INIT;
    struct problems problems;
    struct prompts *p = prompts_load("prompts", &e);
    struct pack *pack;

    problems_init(&problems);
    pack = pack_load(&path, "packs/c-cpu", &problems);
    problems_release(&problems);
    if (!ok(p && pack, "templates and a pack: %s", e.text))
        return;
    test_question(p, pack);
    test_answers();
    pack_free(pack);
    prompts_free(p);
}
