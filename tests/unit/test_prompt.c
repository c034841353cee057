/* test_prompt.c: what is sent: sections in their order, what is shared first,
 * identity, and nothing that a template should not have. */
#include "base/fs.h"
#include "base/mem.h"
#include "pack/pack.h"
#include "prompt/ask.h"
#include "prompt/prompt.h"
#include "scratch.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT(s)          \
    {                    \
        s, sizeof(s) - 1 \
    } /* in a static initialiser */
static const struct prompt_example examples[] = {
    {"one", TEXT("problem-one\n"), TEXT("plan-one\n"), TEXT("solution-one\n"),
     NULL},
    {"two", TEXT("problem-two"), {NULL, 0}, TEXT("solution-two"), NULL},
};
static const struct prompt_attempt attempts[] = {
    {3, TEXT("code-three"), "wrong_values", TEXT("feedback-three\nsecond line"),
     0.4},
    {4, TEXT("code-four"), "compile_error", TEXT("feedback-four"), 0.1},
};

static struct pack *load_pack(void)
{
    const char *dirs[] = {"packs"};
    const struct pack_path path = {dirs, 1};
    struct problems problems;
    struct pack *p;

    problems_init(&problems);
    p = pack_load(&path, "packs/c-cpu", &problems);
    problems_release(&problems);
    return p;
}

static struct prompt_input input(const struct pack *pack,
                                 enum prompt_stage stage)
{
    return (struct prompt_input){.stage = stage,
                                 .pack = pack,
                                 .task_id = "L1/1",
                                 .task = STR_LIT("the-task"),
                                 .precision = "bf16",
                                 .device = "cuda:0",
                                 .example = examples,
                                 .example_count = 2};
}

static bool has(struct str text, const char *part)
{
    return memmem(text.p, text.n, part, strlen(part)) != NULL;
}

/* The parts stand in the text in this order. */
static void in_order(const char *what, struct str text, const char *const *part)
{
    for (int i = 1; *part; part++, i++) {
        const char *at = memmem(text.p, text.n, *part, strlen(*part));

        if (!ok(at != NULL, "%s: part %d stands behind the others", what, i))
            return;
        text.n -= (size_t)(at - text.p);
        text.p = at;
    }
}

static void build(struct prompts *p, const struct prompt_input *in,
                  struct arena *a, struct prompt *out)
{
    struct err e = ERR_INIT;

    if (prompts_build(p, in, a, out, &e) < 0)
        ok(false, "%s", e.text);
}

static void test_plan(struct prompts *p, const struct pack *pack,
                      struct arena *a)
{
    static const char *const order[] = {
        "<context>",   "problem-one", "plan-one",
        "problem-two", "</context>",  "<task_to_be_optimized>",
        "the-task",    "<precision>", "bf16 (torch.bfloat16) on cuda:0",
        NULL};
    struct prompt_input in = input(pack, PROMPT_PLAN);
    struct prompt out;

    build(p, &in, a, &out);
    ok(out.count == 2 && strcmp(out.message[0].role, "system") == 0 &&
           strcmp(out.message[1].role, "user") == 0,
       "a system and a user message");
    ok(has(out.message[0].text, "<dsl_overview>") &&
           has(out.message[0].text, "# C on the CPU: card") &&
           has(out.message[0].text, "`c_cpu`"),
       "the system message has guide, card and imports");
    ok(out.message[0].shared == out.message[0].text.n, "all of it is shared");
    in_order("plan", out.message[1].text, order);
    ok(!has(out.message[1].text, "solution-one"), "no solutions");
    ok(!has(out.message[1].text, "previous"), "no attempts, no section");
    ok(has(out.message[1].text, pack->prompt.plan_hint), "the pack's hint");
    ok(out.tokens > 1000, "an estimate of its size");
}

static void test_code(struct prompts *p, const struct pack *pack,
                      struct arena *a)
{
    static const char *const order[] = {
        "<context>",
        "problem-one",
        "plan-one",
        "```python\nsolution-one\n```",
        "problem-two",
        "Solution Code:",
        "solution-two",
        "</context>",
        "<task_to_be_optimized>",
        "<previous_attempts>",
        "Attempt 3 ended with the verdict wrong_values.\n",
        "```python\ncode-three\n```\nFeedback:\nfeedback-three\nsecond line\n",
        "<implementation_plan>\nthe-plan\n</implementation_plan>",
        "<precision>",
        "```python\n(the complete file",
        "class ModelNew",
        NULL};
    struct prompt_input in = input(pack, PROMPT_CODE);
    struct prompt out;

    in.plan = STR_LIT("\nthe-plan\n");
    in.previous = attempts;
    in.previous_count = 1;
    build(p, &in, a, &out);
    in_order("code", out.message[1].text, order);
    ok(!has(out.message[1].text, "{{"), "no slot is left");
    in.example_count = in.previous_count = 0;
    in.plan.n = 0;
    build(p, &in, a, &out);
    ok(!has(out.message[1].text, "<context>") &&
           !has(out.message[1].text, "<implementation_plan>") &&
           !has(out.message[1].text, "Follow the plan") &&
           !has(out.message[1].text, "previous"),
       "what there is not leaves no trace");
}

static void test_evolve(struct prompts *p, const struct pack *pack,
                        struct arena *a)
{
    static const char *const system[] = {
        "<dsl_overview>",         "<context>",   "solution-one",
        "<task_to_be_optimized>", "<precision>", NULL};
    static const char *const user[] = {
        "<previous_attempts>",
        "Attempt 4 ended with the verdict compile_error (fitness 0.10)",
        "code-four",
        "<current_program>",
        "Attempt 3 ended with the verdict wrong_values (fitness 0.40)",
        "code-three",
        "feedback-three\nsecond line",
        "one fenced block",
        NULL};
    struct prompt_input in = input(pack, PROMPT_EVOLVE), plan;
    struct prompt out, other;

    in.parent = &attempts[0];
    in.previous = &attempts[1];
    in.previous_count = 1;
    build(p, &in, a, &out);
    in_order("evolve, system", out.message[0].text, system);
    in_order("evolve, user", out.message[1].text, user);
    ok(!has(out.message[1].text, "<<<<<<<"), "a whole program is asked for");
    plan = input(pack, PROMPT_PLAN);
    build(p, &plan, a, &other);
    ok(out.message[0].shared == other.message[0].text.n &&
           memcmp(out.message[0].text.p, other.message[0].text.p,
                  out.message[0].shared) == 0,
       "it starts as the prompts of the other stages do");
    in.previous = &attempts[0];
    in.parent = &attempts[1];
    in.diff = true;
    build(p, &in, a, &out);
    ok(has(out.message[1].text, "feedback-three") &&
           !has(out.message[1].text, "second line"),
       "others have one line of feedback");
    ok(has(out.message[1].text, "<<<<<<< SEARCH") &&
           !has(out.message[1].text, "(the complete file"),
       "edits are asked for");
}

static void test_fences(struct prompts *p, const struct pack *pack,
                        struct arena *a)
{
    struct prompt_input in = input(pack, PROMPT_CODE);
    struct prompt out;

    in.task = STR_LIT("\n\n  x = '''\n````\n'''\n\n");
    build(p, &in, a, &out);
    ok(has(out.message[1].text, "`````python\n  x = '''\n````\n'''\n`````\n"),
       "a fence is longer than those inside");
}

static void test_identity(struct prompts *p, const struct pack *pack,
                          struct arena *a)
{
    struct prompt_input in = input(pack, PROMPT_CODE);
    struct prompt one, two;
    char own[HASH_HEX];
    bool covered = true, named = true;
    const char *at;

    build(p, &in, a, &one);
    build(p, &in, a, &two);
    is(two.hash, one.hash, "the same input is the same prompt");
    at = one.list.p;
    for (size_t i = 0; i < 2; i++) {
        const struct llm_message *m = &one.message[i];
        size_t n = 0;

        for (size_t k = 0; k < one.segments; k++) {
            const struct prompt_segment *x = &one.segment[k];

            if (x->message != i)
                continue;
            hash_hex(x->text.p, x->text.n, own);
            named &= at && (at = strstr(at, own));
            covered &= x->text.p == m->text.p + n;
            n += x->text.n;
        }
        covered &= n == m->text.n;
    }
    ok(covered && one.segments > 4, "the segments are the whole of the texts");
    ok(named, "the list has their hashes, in order");
    hash_hex(one.list.p, one.list.n, own);
    is(one.hash, own, "the prompt's hash is that of its list");
    in.task = STR_LIT("another-task");
    build(p, &in, a, &two);
    ok(strcmp(two.hash, one.hash) != 0, "another task is another prompt");
    in.task = STR_LIT("the-task");
    in.no_card = true;
    build(p, &in, a, &two);
    ok(strcmp(two.hash, one.hash) != 0 && two.tokens < one.tokens &&
           !has(two.message[0].text, ": card"),
       "the card can be left out");
}

static bool has_segment(const struct prompt *x, const char *hash)
{
    for (size_t i = 0; i < x->segments; i++)
        if (strcmp(x->segment[i].hash, hash) == 0)
            return true;
    return false;
}

/* Both stages, the examples in both orders, each prompt twice. */
static void test_kept_hashes(struct prompts *p, const struct pack *pack,
                             struct arena *a)
{
    struct prompt_example kept[3] = {examples[0], examples[1], examples[0]};
    struct prompt_seen seen[2][2] = {0};
    struct prompts *fresh;
    struct prompt with, without;
    bool same = true, placed = true;
    struct err e;

    kept[0].seen = kept[2].seen = seen[0];
    kept[1].seen = seen[1];
    for (size_t i = 0; i < 8; i++) {
        struct prompt_input in = input(pack, i & 1 ? PROMPT_PLAN : PROMPT_CODE);
        struct prompt_example plain[2] = {kept[i >> 1 & 1],
                                          kept[(i >> 1 & 1) + 1]};

        in.example = kept + (i >> 1 & 1);
        build(p, &in, a, &with);
        placed &= has_segment(&with, seen[0][i & 1].hash) &&
                  has_segment(&with, seen[1][i & 1].hash);
        plain[0].seen = plain[1].seen = NULL;
        in.example = plain;
        fresh = prompts_load("prompts", &e);
        build(fresh, &in, a, &without);
        same &= strcmp(with.hash, without.hash) == 0;
        prompts_free(fresh);
    }
    ok(same && seen[0][0].start && seen[1][1].start,
       "hashes that were kept are those of the texts");
    ok(placed, "an example is the same segment at every place");
}

/* What the store holds of a task and of a plan is named, not stored again. */
static void test_known_texts(struct prompts *p, const struct pack *pack,
                             struct arena *a)
{
    struct prompt_input in = input(pack, PROMPT_CODE);
    char task[HASH_HEX], plan[HASH_HEX], tidy[HASH_HEX];
    struct prompt with, without, other;

    in.task = STR_LIT("the-task = 1\n");
    in.plan = STR_LIT("the plan");
    build(p, &in, a, &without);
    hash_hex(in.task.p, in.task.n, task);
    hash_hex(in.plan.p, in.plan.n, plan);
    in.task_hash = task;
    in.plan_hash = plan;
    build(p, &in, a, &with);
    ok(has_segment(&with, task) && has_segment(&with, plan),
       "task and plan are segments by themselves");
    is(with.hash, without.hash, "whether their hashes are told or not");
    in.task = STR_LIT("\n\nthe-task = 1\n\n");
    in.plan = STR_LIT(" the plan\n");
    in.task_hash = in.plan_hash = "what is not shown as it stands";
    build(p, &in, a, &other);
    hash_hex("the-task = 1", 12, tidy);
    ok(has_segment(&other, tidy) && has_segment(&other, plan),
       "and so they are when blank lines round them are not shown");
}

/* "lines borrowed findings dropped" of an answer, or why it is none. */
static const char *borrowed(const char *reply)
{
    static char text[200];
    const struct str target = STR_LIT("\n\none\n\nthree\nfour\n  \nsix\n\n");
    struct prompt_borrowed b;
    struct err e = ERR_INIT;

    if (prompts_borrowing_read(str_of(reply), target, 2, &b, &e) < 0)
        snprintf(text, sizeof(text), "%.150s", e.text);
    else
        snprintf(text, sizeof(text), "%zu %zu %zu %zu", b.lines, b.borrowed,
                 b.findings, b.dropped);
    return text;
}

static void test_borrowed(void)
{
    is(borrowed("{\"borrowed\": []}"), "4 0 0 0", "borrowed: nothing");
    is(borrowed("```json\n{\"borrowed\": [{\"parent_id\": \"1\", "
                "\"target_lines\": [[1, 3], [2, 3]]}, {\"parent_id\": 2, "
                "\"target_lines\": [[3, 4]]}]}\n```"),
       "4 3 2 0", "borrowed: each line once, blank ones not at all");
    is(borrowed(
           "{\"borrowed\": [{\"parent_id\": \"1\", \"target_lines\": "
           "[[-9223372036854775807, 1], [6, 9223372036854775807], [5, 2]]}, "
           "{\"parent_id\": \"3\", \"target_lines\": [[1, 6]]}]}"),
       "4 2 1 1", "borrowed: ranges are cut, unknown parents dropped");
    is(borrowed("{\"borrowed\": {}}"), "\"borrowed\" is not a list",
       "borrowed: not a list");
    is(borrowed("{\"borrowed\": [{\"parent_id\": \"1\"}]}"),
       "\"target_lines\" is not a list", "borrowed: no lines");
    is(borrowed("{\"borrowed\": [{\"parent_id\": \"1\", \"target_lines\": "
                "[3]}]}"),
       "\"target_lines\" holds no [first, last]", "borrowed: no range");
}

static void test_questions(const struct prompts *p, struct arena *a)
{
    const struct prompt_part task = {"L3/5", STR_LIT("the-task")};
    const struct prompt_part parents[] = {{"gemm", STR_LIT("a\nb\n")},
                                          {"norm", STR_LIT("c")}};
    struct prompt_decompose d = {
        .name = "L3/5", .task = task.text, .level = "fine", .pieces = 9};
    struct prompt_guide g = {.dsl = "Lang",
                             .words = 700,
                             .contents = STR_LIT("a.md: lines 1 to 9"),
                             .may_ask = true};
    struct prompt out;

    prompts_borrowing(p, &task, parents, 2, a, &out);
    ok(out.count == 2 && has(out.message[1].text, "0001: the-task") &&
           has(out.message[1].text, "<parent id=\"1\" name=\"gemm\">\n0001: a\n"
                                    "0002: b\n</parent>") &&
           has(out.message[1].text, "<parent id=\"2\" name=\"norm\">"),
       "borrowing: lines are numbered");
    prompts_decompose(p, &d, a, &out);
    ok(has(out.message[1].text, "the-task") &&
           has(out.message[1].text, "\"fine\": about 9 pieces") &&
           !has(out.message[1].text, "<proposal>") &&
           !has(out.message[1].text, "<refusals>") &&
           out.message[0].shared == out.message[0].text.n,
       "decomposition: how many pieces");
    d.trace = STR_LIT("q: input");
    d.proposal = STR_LIT("{}");
    d.refusals = STR_LIT("not_finite");
    d.last = STR_LIT("my answer");
    prompts_decompose(p, &d, a, &out);
    ok(has(out.message[1].text, "<intermediates>\nq: input\n") &&
           has(out.message[1].text, "<proposal>\n{}\n") &&
           has(out.message[1].text, "<refusals>\nnot_finite\n") &&
           has(out.message[1].text, "<answer>\nmy answer\n"),
       "… what is known, and what was refused");
    prompts_guide(p, &g, a, &out);
    ok(has(out.message[0].text, "\"do\": \"ask\"") &&
           has(out.message[1].text, "<documents>\na.md: lines 1 to 9") &&
           has(out.message[1].text, "# Lang: Abstraction") &&
           has(out.message[1].text, "About 700 words") &&
           !has(out.message[1].text, "last turn"),
       "guide: the first reader has the list of documents");
    g = (struct prompt_guide){.dsl = "Lang",
                              .question = "How?",
                              .contents = STR_LIT("the text"),
                              .whole = true,
                              .history = STR_LIT("peek a.md:\n1: x\n"),
                              .last = true};
    prompts_guide(p, &g, a, &out);
    ok(!has(out.message[0].text, "\"do\": \"ask\"") &&
           has(out.message[1].text, "<text>\nthe text\n</text>") &&
           has(out.message[1].text, "Question: How?") &&
           has(out.message[1].text, "<found>\npeek a.md:\n1: x\n</found>") &&
           has(out.message[1].text, "last turn"),
       "guide: a reader of a part has its text, and what it found");
    prompts_repair(p, STR_LIT("{\"a\": 1,}"), "{\"a\": 1}", "a comma", a, &out);
    ok(has(out.message[0].text, "could not be used: a comma") &&
           has(out.message[0].text, "{\"a\": 1,}"),
       "repair: what was wrong with which answer");
}

static void test_errors(struct prompts *p, struct pack *pack, struct arena *a)
{
    struct prompt_input in = input(pack, PROMPT_CODE);
    struct err e = ERR_INIT;
    char *dir = pack->dir, first = pack->hash[0];
    struct prompt out;

    in.precision = "fp8";
    ok(prompts_build(p, &in, a, &out, &e) < 0 && strstr(e.text, "fp8"),
       "an unknown precision: %s", e.text);
    in.precision = "fp32";
    pack->dir = xstrdup("packs/nowhere");
    pack->hash[0] = first == '0' ? '1' : '0';
    ok(prompts_build(p, &in, a, &out, &e) < 0 && e.kind == ERR_INPUT &&
           strstr(e.text, "guide.md"),
       "a pack without a guide: %s", e.text);
    free(pack->dir);
    pack->dir = dir;
    pack->hash[0] = first;
}

/* A folder of templates where one is wrong. */
static void test_folder(void)
{
    char *dir = scratch_dir(), *path;
    struct err e = ERR_INIT;
    struct fs_names names = {0};

    ok(fs_is_dir(dir), "a folder of our own");
    ok(fs_list("prompts", false, &names, &e) == 0 && names.len > 10,
       "the program's own templates");
    for (size_t i = 0; i < names.len; i++)
        scratch_put(dir, names.name[i],
                    scratch_read(scratch_path("prompts", names.name[i])));
    path = scratch_put(dir, "plan.md", "{{task}}\n{{tusk}}\n");
    ok(!prompts_load(dir, &e) && strstr(e.text, "plan.md:2: 'tusk'"),
       "an unknown slot: %s", e.text);
    unlink(path);
    ok(!prompts_load(dir, &e) && strstr(e.text, "plan.md"),
       "a missing file: %s", e.text);
    fs_names_release(&names);
}

static void test_tokens(void)
{
    static char text[5003];
    bool right = true;

    ok(llm_estimate_tokens(STR_LIT("")) == 0, "nothing is no token");
    ok(llm_estimate_tokens(STR_LIT("x")) == 1, "something is one");
    ok(llm_estimate_tokens(STR_LIT("return x + y * 2;\n    ")) == 7,
       "3.5 bytes of ASCII are one");
    ok(llm_estimate_tokens(STR_LIT("\xc3\xa4\xc3\xb6")) == 2,
       "two other bytes are one");
    for (size_t wide = 0; wide <= sizeof(text); wide += 61) {
        memset(text, 'x', sizeof(text));
        memset(text, '\xc3', wide);
        right &=
            llm_estimate_tokens((struct str){text, sizeof(text)}) ==
            (int64_t)(((sizeof(text) - wide) * 2 + 6) / 7 + (wide + 1) / 2);
    }
    ok(right, "and so in long texts");
}

SUITE(prompt)
{
    struct err e = ERR_INIT;
    struct prompts *p = prompts_load("prompts", &e);
    struct pack *pack = load_pack();
    struct arena a = {0};

    if (!ok(p && pack, "templates and a pack: %s", e.text))
        return;
    test_plan(p, pack, &a);
    test_code(p, pack, &a);
    test_evolve(p, pack, &a);
    test_fences(p, pack, &a);
    test_identity(p, pack, &a);
    test_kept_hashes(p, pack, &a);
    test_known_texts(p, pack, &a);
    test_questions(p, &a);
    test_borrowed();
    test_errors(p, pack, &a);
    test_folder();
    test_tokens();
    arena_release(&a);
    pack_free(pack);
    prompts_free(p);
}
