/* test_check.c: source and rules to findings: places, order, limits, and what
 * the engine itself finds. */
#include "verify/check.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/tick.h"
#include "pack/schema.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((size_t)1 << 20)

/* A set of rules from a JSON list, and what holds it. */
struct rig {
    struct ruleset set;
    struct rules rules;
    json_t *json;
    struct check *check;
    struct check_result got;
};

static void rig_open(struct rig *r, const char *list,
                     const struct rx_limits *limits)
{
    struct rule_place at = {"t", "/rules", true};
    struct problems p;
    struct err e = ERR_INIT;

    memset(r, 0, sizeof(*r));
    problems_init(&p);
    r->json = jsn_parse("t", list, strlen(list), &e);
    if (!r->json || !rules_init(&r->rules, r->json, &at, &p))
        BUG("test rules: %s", p.len ? p.line[0] : e.text);
    r->set.name = "default";
    r->set.rule = xcalloc(r->rules.len, sizeof(*r->set.rule));
    for (size_t i = 0; i < r->rules.len; i++)
        r->set.rule[r->set.len++] = r->rules.rule[i];
    r->check = check_new(limits);
}

static void rig_close(struct rig *r)
{
    check_free(r->check);
    rules_release(&r->rules);
    free(r->set.rule);
    json_decref(r->json);
}

static void try_n(struct rig *r, const char *src, size_t n)
{
    r->got = check_source(r->check, &r->set, (struct str){src, n});
}

static void try(struct rig *r, const char *src)
{
    try_n(r, src, strlen(src));
}

/* "rule@line:column …" of all findings, warnings with a "?" */
static const char *said(const struct rig *r)
{
    static char text[2000];
    size_t n = 0;

    text[0] = '\0';
    for (size_t i = 0; i < r->got.len && n < 1900; i++) {
        const struct finding *f = &r->got.finding[i];

        n += (size_t)snprintf(
            text + n, sizeof(text) - n, "%s%s%s@%u:%u", i ? " " : "", f->rule,
            f->severity == CHECK_WARNING ? "?" : "", f->line, f->column);
    }
    return text;
}

#define RULE(id, kind, view, pcre)                                   \
    "{\"id\": \"" id "\", \"kind\": \"" kind "\", \"view\": \"" view \
    "\", \"pcre\": \"" pcre "\", \"message\": \"about " id "\"}"

static void test_places(void)
{
    struct rig r;

    rig_open(&r,
             "[" RULE("need", "require", "code", "^def \\\\w+") "," RULE(
                 "bad", "forbid", "code",
                 "\\\\bbad\\\\b") "," RULE("odd", "warn", "all", "odd") "]",
             NULL);
    try(&r, "def f():\n    return 1\n");
    ok(r.got.accepted && r.got.len == 0, "nothing wrong, nothing said");
    try(&r, "x = 1 # odd\n");
    is(said(&r), "need@0:0 odd?@1:9",
       "what is missing belongs to the whole file and comes first");
    ok(!r.got.accepted && r.got.errors == 1 && r.got.warnings == 1,
       "one error is enough");
    is(r.got.finding[0].excerpt, "", "a whole file has no excerpt");
    try(&r, "def f(): # odd\n    pass\n");
    ok(r.got.accepted && r.got.warnings == 1, "a warning is none");
    try(&r, "def f():\r\n    é = 'odd'; bad = odd\r\n\r\n    bad\r\n");
    is(said(&r), "odd?@2:10 bad@2:16 odd?@2:22 bad@4:5",
       "in the order of places, columns in characters");
    is(r.got.finding[1].excerpt, "    é = 'odd'; bad = odd",
       "the excerpt is the source line");
    is(r.got.finding[1].message, "about bad", "with the rule's message");
    try(&r, "def f():\n    'bad' # bad\n    return f'{bad}'\n");
    is(said(&r), "bad@3:15", "text and comments are not code, f-strings are");
    try(&r, "");
    is(said(&r), "need@0:0", "an empty file is a file");
    rig_close(&r);
}

static void test_excerpt(void)
{
    struct rig r;
    struct buf b = {.limit = 10000};
    struct str line;

    rig_open(&r, "[" RULE("a", "forbid", "all", "zz") "]", NULL);
    buf_puts(&b, "x = 1\ny = '\x1b[31m");
    for (int i = 0; i < 200; i++)
        buf_puts(&b, "é");
    buf_puts(&b, "zz'\n");
    try_n(&r, b.data, b.len);
    line = str_of(r.got.finding[0].excerpt);
    ok(line.n == 10 + 2 * 109 + 3 && str_starts(line, "y = '?[31mé") &&
           str_ends(line, "é…"),
       "a long line is cut at 120 characters, between two of them");
    buf_release(&b);
    rig_close(&r);
}

static void test_sources(void)
{
    struct rig r;
    char *large = xmalloc(MIB + 1);

    rig_open(&r, "[" RULE("need", "require", "all", "zzz") "]", NULL);
    try(&r, "x = '\xff'\n");
    is(said(&r), "source-encoding@1:6", "bytes that are not UTF-8");
    try(&r, "# coding: latin-1\nx = 1\n");
    ok(r.got.len == 1 && strcmp(r.got.finding[0].rule, "source-encoding") == 0,
       "another coding");
    try_n(&r, "x = 1\n\0", 7);
    is(said(&r), "source-nul@2:1", "a NUL");
    memset(large, '\n', MIB + 1);
    try_n(&r, large, MIB + 1);
    ok(r.got.len == 1 && strcmp(r.got.finding[0].rule, "source-too-large") == 0,
       "a source that is too large");
    try(&r, "import os\nx = (1,\n");
    ok(r.got.len == 1 && strcmp(r.got.finding[0].rule, "source-syntax") == 0 &&
           !r.got.accepted,
       "a bracket left open: the only finding, no rule is tried");
    try(&r, "x = 1\n");
    is(said(&r), "need@0:0", "the next file starts afresh");
    free(large);
    rig_close(&r);
}

static void test_limit_hit(void)
{
    static const char src[] = "x = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'";
    struct rx_limits l = rx_limits_default;
    struct rig r;

    l.match = 1000;
    rig_open(&r,
             "[" RULE("slow", "forbid", "all", "(a+)+$") "," RULE(
                 "need", "require", "all", "(a+)+$") "," RULE("x", "forbid",
                                                              "all", "x") "]",
             &l);
    try(&r, src);
    is(said(&r), "limit-hit@0:0 limit-hit@0:0 x@1:1",
       "a limit is a finding, whatever the rule's kind, and the rest goes on");
    ok(strstr(r.got.finding[0].message, "rule slow ") && !r.got.accepted,
       "it names the rule: %s", r.got.finding[0].message);
    rig_close(&r);
    l = rx_limits_default;
    l.round_ns = -1;
    rig_open(&r,
             "[" RULE("a", "warn", "all", "y") "," RULE("b", "forbid", "all",
                                                        "x") "]",
             &l);
    try(&r, src);
    is(said(&r), "limit-hit@0:0", "when the time is used up, nothing goes on");
    rig_close(&r);
}

static void test_many(void)
{
    struct rig r;
    struct buf b = {.limit = 2 * MIB};
    int64_t start;

    rig_open(&r,
             "[" RULE("call", "forbid", "code", "\\\\bf\\\\(") "," RULE(
                 "name", "warn", "all", "\\\\w+ =") "," RULE("far", "forbid",
                                                             "cut", "zz") "]",
             NULL);
    while (b.len < MIB - 40)
        buf_puts(&b, "x = f(1) + torch.mm(y) # words\n");
    start = tick_now_ns();
    try_n(&r, b.data, b.len);
    printf("# 1 MiB of source under three rules: %.0f ms\n",
           (double)(tick_now_ns() - start) / 1e6);
    ok(r.got.errors == RULE_HITS_MAX && r.got.warnings == RULE_HITS_MAX,
       "20 findings of each rule that is hit");
    ok(strstr(r.got.finding[r.got.len - 1].message, " more like it)"),
       "the last says how many more: %s", r.got.finding[r.got.len - 1].message);
    memset(b.data, 'x', b.len);
    try_n(&r, b.data, b.len);
    ok(r.got.accepted, "one name of a million letters");
    buf_release(&b);
    rig_close(&r);
}

SUITE(check)
{
    test_places();
    test_excerpt();
    test_sources();
    test_limit_hit();
    test_many();
}
