/* test_opt.c: option tables and configuration files. */
#include "base/conf.h"
#include "base/fs.h"
#include "base/opt.h"
#include "scratch.h"
#include "tap.h"

#include <string.h>
#include <unistd.h>

struct values {
    bool json;
    const char *rules, *name, *serve;
    int64_t count;
    struct opt_list packs;
};

static const struct opt table[] = {
    {"json", 'j', OPT_FLAG, NULL, "facts", offsetof(struct values, json), 0, 0},
    {"rules", 0, OPT_CHOICE, "default|paper", "which",
     offsetof(struct values, rules), 0, 0},
    {"name", 'n', OPT_TEXT, "NAME", "a name", offsetof(struct values, name), 0,
     0},
    {"count", 0, OPT_INT, "N", "how many", offsetof(struct values, count), 1,
     9},
    {"packs", 0, OPT_LIST, "DIR", "where", offsetof(struct values, packs), 0,
     0},
    {"serve", 0, OPT_MAYBE, "PORT", "show", offsetof(struct values, serve), 0,
     0},
    {0},
};

/* Parses the words of `line` (split at blanks) into `v`. */
static int parse(const char *line, struct values *v, struct opt_result *r,
                 struct err *e)
{
    static char words[256];
    char *argv[16];
    int argc = 0;

    snprintf(words, sizeof(words), "%s", line);
    for (char *p = words; *p && argc < 16;) {
        argv[argc++] = p;
        p += strcspn(p, " ");
        if (*p)
            *p++ = '\0';
    }
    *v = (struct values){.rules = "default", .count = 3};
    return opt_parse(table, v, argc, argv, r, e);
}

static void test_parsing(void)
{
    struct values v;
    struct opt_result r;
    struct err e = ERR_INIT;

    ok(parse("x a --json --rules paper --count=4 -n q b -- --json", &v, &r,
             &e) == 0,
       "a line of everything");
    ok(v.json && v.count == 4, "flags and numbers");
    is(v.rules, "paper", "a choice");
    is(v.name, "q", "a short option");
    ok(r.rest_len == 3 && strcmp(r.rest[2], "--json") == 0,
       "other words in order, all of them behind --");
    opt_result_release(&r);
    ok(parse("x --packs a --packs b", &v, &r, &e) == 0 && v.packs.len == 2 &&
           strcmp(v.packs.item[1], "b") == 0,
       "a list takes several");
    opt_release(table, &v);
    opt_result_release(&r);
    ok(parse("x", &v, &r, &e) == 0 && v.count == 3, "defaults stay");
    opt_result_release(&r);
}

static void test_value_that_may_be_missing(void)
{
    struct values v;
    struct opt_result r;
    struct err e = ERR_INIT;
    struct buf b = BUF_INIT;

    ok(parse("x a", &v, &r, &e) == 0 && !v.serve, "it is not given");
    opt_result_release(&r);
    ok(parse("x --serve a", &v, &r, &e) == 0 && strcmp(v.serve, "") == 0 &&
           r.rest_len == 1,
       "without a value it takes no other word");
    opt_result_release(&r);
    ok(parse("x --serve=9", &v, &r, &e) == 0, "with one");
    is(v.serve, "9", "it has it");
    opt_result_release(&r);
    ok(opt_set(table, &v, "serve", "yes", &e) == 0 && !v.serve[0],
       "in a file 'yes' is none");
    ok(opt_set(table, &v, "serve", "8", &e) == 0, "others are values");
    is(v.serve, "8", "as they are");
    conf_write("mine", table, &v, &b);
    ok(!strstr(buf_str(&b), "serve"), "it is not written");
    buf_reset(&b);
    opt_help(table, &b);
    ok(strstr(buf_str(&b), "--serve[=PORT]"), "help says so");
    buf_release(&b);
}

static void refused(const char *line, const char *text)
{
    struct values v;
    struct opt_result r;
    struct err e = ERR_INIT;

    ok(parse(line, &v, &r, &e) < 0 && e.kind == ERR_USAGE, "%s is refused",
       line);
    is(e.text, text, "and says why");
    opt_release(table, &v);
    opt_result_release(&r);
}

/* A value of a configuration file is its whole line, however long. */
static void test_values_come_back(void)
{
    static const char *const items[] = {"a ; b", "c = d # e"};
    char *path, name[3000];
    struct values v = {.json = true, .count = 7, .name = name}, got = {0};
    struct err e = ERR_INIT;
    struct arena a = {0};
    struct buf b = BUF_INIT;

    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    opt_set(table, &v, "packs", items[0], &e);
    opt_set(table, &v, "packs", items[1], &e);
    conf_write("mine", table, &v, &b);
    path = scratch_put(scratch_dir(), "conf", buf_str(&b));
    ok(conf_apply(path, "mine", table, &got, &a, &e) == 0,
       "values are written and read back");
    ok(got.json && got.count == 7 && !got.rules, "flags, numbers and gaps");
    is(got.name, name, "a value of 3,000 characters");
    ok(got.packs.len == 2, "a list");
    is(got.packs.item[0], items[0], "a semicolon does not end a value");
    is(got.packs.item[1], items[1], "nor does # or =");
    opt_release(table, &v);
    opt_release(table, &got);
    buf_release(&b);
    arena_release(&a);
}

static void test_configuration(void)
{
    static const char text[] = "[other]\nwhat = ever\n"
                               "[mine]\nrules = paper\njson = yes\n";
    char *dir = scratch_dir(), *path = scratch_put(dir, "conf", text);
    struct values v = {0};
    struct err e = ERR_INIT;
    struct arena a = {0};

    ok(fs_is_file(path), "a file");
    ok(conf_apply(path, "mine", table, &v, &a, &e) == 0 && v.json, "is read");
    is(v.rules, "paper", "its values arrive");
    ok(conf_apply(path, "other", table, &v, &a, &e) < 0 &&
           strstr(e.text, ":2: [other]: unknown option 'what'"),
       "an unknown option names file and line");
    scratch_put(dir, "conf", "rubbish\n");
    ok(conf_apply(path, "mine", table, &v, &a, &e) < 0 &&
           strstr(e.text, ":1: neither"),
       "so does a line that is none");
    arena_release(&a);
}

static void test_help(void)
{
    struct buf b = {.limit = 4096};

    opt_help(table, &b);
    ok(strstr(buf_str(&b), "  -j, --json  ") != NULL, "help names both forms");
    ok(strstr(buf_str(&b), "      --rules default|paper") != NULL,
       "and the choices");
    buf_reset(&b);
    opt_mdoc_synopsis(table, &b);
    ok(strstr(buf_str(&b), ".Op Fl n | Fl -name Ar NAME\n") != NULL,
       "the manual is made from the same table");
    buf_reset(&b);
    opt_mdoc_text("'a'\n.b: 'c' d. .e", &b);
    ok(strcmp(buf_str(&b), "\\&'a'\n\\&.b:\n\\&'c' d.\n\\&.e") == 0,
       "a quote or a dot at the start of a line is text there");
    buf_release(&b);
}

SUITE(opt)
{
    test_parsing();
    test_value_that_may_be_missing();
    refused("x --jsno", "unknown option --jsno; did you mean --json?");
    refused("x --zzzzzzzz", "unknown option --zzzzzzzz; --help lists them");
    refused("x -z", "unknown option -z; --help lists them");
    refused("x --rules other", "--rules: 'other' is not one of default|paper");
    refused("x --count 10", "--count: '10' is not a whole number from 1 to 9");
    refused("x --count", "--count needs a value: N");
    refused("x --json=1", "--json takes no value");
    test_configuration();
    test_values_come_back();
    test_help();
}
