/* test_rule.c: patterns under limits, rules from JSON, hints. */
#include "pack/rule.h"

#include "base/mem.h"
#include "base/tick.h"
#include "pack_fixture.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

static void test_compile(void)
{
    static const struct {
        const char *pattern, *why;
    } bad[] = {
        {"a(b", "at offset 3: missing closing parenthesis"},
        {"a\\C", "at offset"},
        {"ab(?C1)c", "at offset 7: callouts are not allowed"},
        {"x*", "matches the empty text"},
        {"$", "matches the empty text"},
        {"(?<=a+)b", "at offset"},
        {"\xff", "at offset 0"},
    };
    struct err e = ERR_INIT;
    struct rx *rx;
    char *large = xmalloc(RX_PATTERN_MAX + 2);

    for (size_t i = 0; i < COUNT(bad); i++) {
        rx = rx_new(bad[i].pattern, &e);
        ok(!rx && strstr(e.text, bad[i].why), "refused: %s: %s", bad[i].why,
           e.text);
        rx_free(rx);
    }
    memset(large, 'a', RX_PATTERN_MAX + 1);
    large[RX_PATTERN_MAX + 1] = '\0';
    ok(!rx_new(large, &e), "a pattern has a size limit: %s", e.text);
    large[RX_PATTERN_MAX] = '\0';
    rx = rx_new(large, &e);
    ok(rx != NULL, "up to it all is well");
    rx_free(rx);
    free(large);
}

/* All matches of a pattern, as "start:text" with commas between. */
static const char *matches(const char *pattern, struct str text, struct buf *b)
{
    struct err e = ERR_INIT;
    struct rx *rx = rx_new(pattern, &e);
    struct rx_ctx *c = rx_ctx_new(&rx_limits_default);
    size_t from = 0;

    buf_reset(b);
    if (!rx)
        BUG("%s: %s", pattern, e.text);
    while (rx_find(c, rx, text, from) == RX_MATCH && b->len < 900) {
        struct str all = rx_group(c, text, 0);

        buf_printf(b, "%s%zu:%.*s", b->len ? "," : "", rx_at(c), (int)all.n,
                   all.p);
        from = rx_next(c, text);
    }
    rx_ctx_free(c);
    rx_free(rx);
    return buf_str(b);
}

static void test_find(void)
{
    struct buf b = {.limit = 1000};
    char text[3000];

    is(matches("^b.$", STR_LIT("a\nbc\r\nbd\rbe"), &b), "2:bc,6:bd,9:be",
       "^ and $ match at every kind of line end");
    is(matches("(?=a)", STR_LIT("aab"), &b),
       "0:,1:", "an empty match does not stand still");
    is(matches("(?=\xc3\xa9)", STR_LIT("\xc3\xa9\xc3\xa9"), &b),
       "0:,2:", "nor stop inside a character");
    is(matches("a\\Kb", STR_LIT("abab"), &b), "1:b,3:b", "\\K moves the start");
    is(matches("ab\\K", STR_LIT("abab"), &b), "2:,4:", "and skips nothing");
    is(matches("x", (struct str){NULL, 0}, &b), "", "nothing in nothing");
    /* Places round the edges of the windows in which a text is searched. */
    memset(text, '.', sizeof(text));
    for (size_t i = 254; i <= 258; i += 2)
        text[i] = 'x';
    text[767] = text[768] = text[1791] = text[2999] = 'x';
    is(matches("x", (struct str){text, sizeof(text)}, &b),
       "254:x,256:x,258:x,767:x,768:x,1791:x,2999:x",
       "no match is lost between windows");
    is(matches("(?<=x)x", (struct str){text, sizeof(text)}, &b), "768:x",
       "a pattern looks back across them");
    for (size_t i = 0; i + 1 < sizeof(text); i += 2)
        memcpy(text + i, "\xc3\xa9", 2);
    memcpy(text + 1000, "xy", 2);
    is(matches(".y.", (struct str){text, sizeof(text)}, &b), "1000:xy\xc3\xa9",
       "a window may end inside a character");
    buf_release(&b);
}

/* A search that reads past the end of these texts dies here. */
static void test_page_end(void)
{
    static const char *pattern[] = {"x",  "^x",    "(?i)x", "a|x",
                                    "xy", "[xy]z", "ax?b",  "a.{15}x"};
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *map = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *end = map + 2 * page;
    bool none = true;
    struct buf b = {.limit = 1000};

    if (map == MAP_FAILED || mprotect(end, page, PROT_NONE) < 0)
        BUG("no memory");
    for (size_t i = 0; i < COUNT(pattern); i++)
        for (size_t n = 0; n < 400; n++)
            for (const char *c = ".\n"; *c; c++) {
                memset(end - n, *c, n);
                none = none &&
                       !matches(pattern[i], (struct str){end - n, n}, &b)[0];
            }
    ok(none, "nothing is read past the end of a text");
    memset(end - 400, '.', 400);
    memcpy(end - 400, "x", 1);
    memcpy(end - 2, "xx", 2);
    is(matches("x", (struct str){end - 400, 400}, &b), "0:x,398:x,399:x",
       "and matches before it are found");
    is(matches("(?<=x)$", (struct str){end - 400, 400}, &b),
       "400:", "also at the very end");
    buf_release(&b);
    munmap(map, 3 * page);
}

/* `idle_us`: how long nothing is done between the start of the round and the search. */
static enum rx_result find_after(const char *pattern, struct str text,
                                 const struct rx_limits *l, useconds_t idle_us)
{
    struct err e = ERR_INIT;
    struct rx *rx = rx_new(pattern, &e);
    struct rx_ctx *c = rx_ctx_new(l);
    enum rx_result got;

    if (!rx)
        BUG("%s: %s", pattern, e.text);
    usleep(idle_us);
    got = rx_find(c, rx, text, 0);
    rx_ctx_free(c);
    rx_free(rx);
    return got;
}

static enum rx_result find_under(const char *pattern, struct str text,
                                 const struct rx_limits *l)
{
    return find_after(pattern, text, l, 0);
}

static void test_limits(void)
{
    struct rx_limits l = rx_limits_default;
    char *text = xmalloc(MIB);
    struct str all = {text, MIB};
    struct str word = STR_LIT("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!");

    memset(text, 'a', MIB);
    ok(find_under("^(a+)+$", word, &rx_limits_default) == RX_LIMIT,
       "too many steps are a result of their own");
    l.match = 10;
    ok(find_under("(?:a|aa)+b|c", STR_LIT("aaaaaaaaaaaaaaaaaaaa"), &l) ==
           RX_LIMIT,
       "the limit given counts");
    l = rx_limits_default;
    l.jit_stack_bytes = 8192;
    l.heap_kib = 8;
    ok(find_under("(?:(a)|b)*c|d", all, &l) == RX_LIMIT,
       "so does the memory for going back");
    ok(find_under("(*NO_JIT)(?:(a)|b)*c|d", all, &l) == RX_LIMIT,
       "also without the JIT");
    l = rx_limits_default;
    l.depth = 5;
    ok(find_under("(*NO_JIT)(?:(a)|b)*c|d", all, &l) == RX_LIMIT,
       "and the depth");
    l = rx_limits_default;
    l.round_ns = 20 * TICK_MS;
    for (size_t i = 0; i < MIB; i += 20000)
        text[i] = '\n';
    ok(find_under("(*NO_JIT)a.*[bc]", all, &l) == RX_TIME,
       "a text that is slow at every place ends with the round's time");
    ok(find_after("!", word, &l, 40000) == RX_MATCH,
       "time that other programs have does not count");
    free(text);
}

/* ---- rules ---- */

#define RULE(id, kind, pcre, message)                                        \
    "{\"id\": \"" id "\", \"kind\": \"" kind                                 \
    "\", \"view\": \"all\", \"pcre\": \"" pcre "\", \"message\": \"" message \
    "\"}"

static json_t *list_of(const char *text)
{
    struct err e = ERR_INIT;
    json_t *v = jsn_parse("t", text, strlen(text), &e);

    if (!v)
        BUG("%s", e.text);
    return v;
}

static void refuses(const char *list, const char *line)
{
    struct rule_place at = {"c.json", "/rules", true};
    struct problems p;
    struct rules r;
    json_t *v = list_of(list);

    problems_init(&p);
    ok(!rules_init(&r, v, &at, &p) && problems_have(&p, line), "%s", line);
    problems_release(&p);
    rules_release(&r);
    json_decref(v);
}

static void test_rules_json(void)
{
    refuses("[" RULE("a", "forbid", "x", "m") "," RULE("b", "forbid", "(x",
                                                       "m") "]",
            "c.json: /rules/1/pcre: at offset 2: missing closing parenthesis; "
            "correct the pattern");
    refuses(
        "[" RULE("a", "forbid", "x", "m") "," RULE("a", "warn", "y", "m") "]",
        "c.json: /rules/1/id: \"a\" is the id of /rules/0");
    refuses("[" RULE("limit-hit", "forbid", "x", "m") "]",
            "c.json: /rules/0/id: \"limit-hit\" is a finding of the engine");
    refuses("[" RULE("source-x", "forbid", "x", "m") "]",
            "c.json: /rules/0/id: \"source-x\" is a finding of the engine");
    refuses("[" RULE("a", "forbid", "(x)", "m $2") "]",
            "c.json: /rules/0/message: $2, but the pattern has 1 groups");
    refuses("[" RULE("a", "require", "x", "m $0") "]",
            "c.json: /rules/0/message: $0 in a \"require\" rule");
}

static void apply(const char *list, struct str text, struct arena *a,
                  struct rule_hits *out)
{
    struct rule_place at = {"c.json", "/rules", true};
    struct rx_ctx *c = rx_ctx_new(&rx_limits_default);
    struct problems p;
    struct rules r;
    json_t *v = list_of(list);

    problems_init(&p);
    ok(rules_init(&r, v, &at, &p), "rules compile");
    rule_apply(&r.rule[0], c, text, a, out);
    rules_release(&r);
    problems_release(&p);
    rx_ctx_free(c);
    json_decref(v);
}

static void test_apply(void)
{
    struct rule_hits h;
    struct arena a = {0};
    char *text = xmalloc(MIB);
    int64_t start;

    apply("[" RULE("a", "forbid", "(\\\\w+)\\\\((\\\\w*)",
                   "$1 of $2, $$, $x") "]",
          STR_LIT("f(x)\ng()"), &a, &h);
    ok(h.len == 2 && h.hit[0].at == 0 && h.hit[1].at == 5, "both matches");
    is(h.hit[0].message, "f of x, $$, $x", "groups stand in the message");
    is(h.hit[1].message, "g of , $$, $x", "an empty group is empty");
    apply("[" RULE("a", "require", "a", "m") "]", STR_LIT("aaa"), &a, &h);
    ok(h.len == 1 && h.more == 0, "a required pattern is looked for once");
    memset(text, 'a', MIB);
    start = tick_now_ns();
    apply("[" RULE("a", "warn", "a", "m") "]", (struct str){text, MIB}, &a, &h);
    ok(h.len == RULE_HITS_MAX && h.more == MIB - RULE_HITS_MAX,
       "of a million matches 20 are kept");
    is(h.hit[RULE_HITS_MAX - 1].message, "m (and 1048556 more like it)",
       "and the last one says how many there were");
    printf("# 1 MiB with a match at each byte: %.0f ms\n",
           (double)(tick_now_ns() - start) / 1e6);
    free(text);
    arena_release(&a);
}

static void test_hints(void)
{
    static const char text[] =
        "[{\"id\": \"a\", \"stage\": \"compile\", \"pcre\": \"x(\\\\d)\","
        "  \"hint\": \"use $1\"},"
        " {\"id\": \"b\", \"stage\": \"run\", \"pcre\": \"x\","
        "  \"hint\": \"run\", \"cite\": \"book\"},"
        " {\"id\": \"c\", \"stage\": \"compile\", \"pcre\": \"x\","
        "  \"hint\": \"other\"}]";
    json_t *v = list_of(text);
    struct rx_ctx *c = rx_ctx_new(&rx_limits_default);
    struct problems p;
    struct hints h, bad;
    struct buf b = {.limit = 100};

    problems_init(&p);
    ok(hints_init(&h, v, "e.json", &p), "hints compile");
    ok(hint_find(&h, c, HINT_COMPILE, STR_LIT("\xff x1 x2"), &b) == &h.hint[0],
       "the first that matches wins, whatever bytes are about");
    is(buf_str(&b), "use 1", "with its groups filled in");
    ok(hint_find(&h, c, HINT_RUN, STR_LIT("x1"), &b) == &h.hint[1],
       "only those of the stage count");
    ok(hint_find(&h, c, HINT_ANY, STR_LIT("xx"), &b) == &h.hint[1],
       "unless any will do");
    ok(!hint_find(&h, c, HINT_PARSE, STR_LIT("x1"), &b), "none is NULL");
    json_array_append_new(
        v, list_of("{\"id\": \"a\", \"stage\": \"run\", \"pcre\": \"[\","
                   " \"hint\": \"h\"}"));
    json_array_append_new(
        v, list_of("{\"id\": \"d\", \"stage\": \"run\", \"pcre\": \"x\","
                   " \"hint\": \"$3\"}"));
    ok(!hints_init(&bad, v, "e.json", &p) &&
           problems_have(&p,
                         "e.json: /hints/3/id: \"a\" is the id of /hints/0") &&
           problems_have(&p, "e.json: /hints/3/pcre: at offset 1") &&
           problems_have(&p, "e.json: /hints/4/hint: $3"),
       "bad hints are named");
    problems_release(&p);
    buf_release(&b);
    hints_release(&bad);
    hints_release(&h);
    rx_ctx_free(c);
    json_decref(v);
}

SUITE(rule)
{
    test_compile();
    test_find();
    test_page_end();
    test_limits();
    test_rules_json();
    test_apply();
    test_hints();
}
