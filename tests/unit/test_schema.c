/* test_schema.c: JSON against tables: every kind of mistake and its line. */
#include "pack/schema.h"

#include "pack/quote.h"
#include "pack_fixture.h"
#include "tap.h"

#include <string.h>

static const char *const colours[] = {"red", "green"};
static const struct schema colour = {
    .type = SCHEMA_STRING, .choices = colours, .choice_count = 2};
static const struct schema word = {.type = SCHEMA_STRING,
                                   .min = 2,
                                   .max = 5,
                                   .pattern = "[a-z]+",
                                   .remedy = "use small letters"};
static const struct schema_field inner[] = {
    {"on", false, {.type = SCHEMA_BOOL}},
    {0},
};
static const struct schema_field outer[] = {
    {"count", false, {.type = SCHEMA_INT, .min = 1, .max = 9}},
    {"least", true, {.type = SCHEMA_INT, .min = 5}},
    {"word",
     true,
     {.type = SCHEMA_STRING,
      .min = 2,
      .max = 5,
      .pattern = "[a-z]+",
      .remedy = "use small letters"}},
    {"colours",
     true,
     {.type = SCHEMA_LIST,
      .min = 1,
      .max = 3,
      .element = &colour,
      .unique = true}},
    {"map",
     true,
     {.type = SCHEMA_MAP,
      .element = &word,
      .max = 2,
      .pattern = "[A-Z]+",
      .remedy = "name in capitals"}},
    {"inner", true, {.type = SCHEMA_OBJECT, .fields = inner}},
    {0},
};
static const struct schema table = {.type = SCHEMA_OBJECT, .fields = outer};

static void check(const char *text, struct problems *p)
{
    struct err e = ERR_INIT;
    json_t *v = jsn_parse("f.json", text, strlen(text), &e);

    problems_init(p);
    if (!ok(v != NULL, "JSON: %s", text))
        return;
    ok(schema_check(&table, v, "f.json", p) == (p->len == 0),
       "the result says whether there are problems");
    json_decref(v);
}

/* The text has exactly one problem, and this is its line. */
static void refuses(const char *text, const char *line)
{
    struct problems p;

    check(text, &p);
    is(p.len == 1 ? p.line[0] : "not one problem", line, line);
    for (size_t i = 0; p.len != 1 && i < p.len; i++)
        printf("#   %s\n", p.line[i]);
    problems_release(&p);
}

static void test_accepts(void)
{
    struct problems p;

    check("{\"count\": 1}", &p);
    ok(p.len == 0, "optional fields may be missing");
    check("{\"count\": 9, \"least\": 99, \"word\": \"abcde\","
          " \"colours\": [\"red\", \"green\"], \"map\": {\"A\": \"xy\"},"
          " \"inner\": {\"on\": true}}",
          &p);
    ok(p.len == 0, "all of them, at their bounds");
}

static void test_types(void)
{
    refuses("[]", "f.json: /: must be an object, not a list");
    refuses("{\"count\": \"1\"}",
            "f.json: /count: must be a whole number, not a string");
    refuses("{\"count\": 1.5}",
            "f.json: /count: must be a whole number, not a broken number");
    refuses("{\"count\": 1, \"word\": null}",
            "f.json: /word: must be a string, not null; use small letters");
    refuses("{\"count\": 1, \"colours\": {}}",
            "f.json: /colours: must be a list, not an object");
    refuses("{\"count\": 1, \"map\": []}",
            "f.json: /map: must be an object, not a list; name in capitals");
    refuses("{\"count\": 1, \"inner\": {\"on\": 1}}",
            "f.json: /inner/on: must be true or false, not a number");
}

static void test_bounds(void)
{
    refuses("{\"count\": 0}", "f.json: /count: 0 is not within 1..9");
    refuses("{\"count\": 10}", "f.json: /count: 10 is not within 1..9");
    refuses("{\"count\": 1, \"least\": 4}",
            "f.json: /least: 4 is not at least 5");
    refuses("{\"count\": 1, \"word\": \"\"}",
            "f.json: /word: must not be empty; use small letters");
    refuses("{\"count\": 1, \"word\": \"a\"}",
            "f.json: /word: shorter than 2 bytes; use small letters");
    refuses("{\"count\": 1, \"word\": \"abcdef\"}",
            "f.json: /word: longer than 5 bytes; use small letters");
    refuses("{\"count\": 1, \"colours\": []}",
            "f.json: /colours: has 0 elements, needs 1");
    refuses("{\"count\": 1, \"map\": {\"A\": \"xx\", \"B\": \"xx\","
            " \"C\": \"xx\"}}",
            "f.json: /map: has 3 elements, at most 2; name in capitals");
}

static void test_words(void)
{
    refuses("{\"count\": 1, \"word\": \"A1\"}",
            "f.json: /word: \"A1\" does not match [a-z]+; use small letters");
    refuses("{\"count\": 1, \"word\": \"ab\\n\"}",
            "f.json: /word: \"ab \" does not match [a-z]+; use small letters");
    refuses("{\"count\": 1, \"colours\": [\"red\", \"gren\"]}",
            "f.json: /colours/1: \"gren\" is not one of red, green; did you "
            "mean \"green\"?");
    refuses("{\"count\": 1, \"colours\": [\"xxxxxxxx\"]}",
            "f.json: /colours/0: \"xxxxxxxx\" is not one of red, green");
    refuses("{\"count\": 1, \"colours\": [\"red\", \"red\"]}",
            "f.json: /colours/1: stands twice; remove it");
    refuses("{\"count\": 1, \"map\": {\"a/b~c\": \"xx\"}}",
            "f.json: /map/a~1b~0c: \"a/b~c\" does not match [A-Z]+; name in "
            "capitals");
}

static void test_fields(void)
{
    refuses("{}", "f.json: /count: missing; add a whole number");
    refuses("{\"count\": 1, \"inner\": {}}",
            "f.json: /inner/on: missing; add true or false");
    refuses("{\"count\": 1, \"colour\": []}",
            "f.json: /colour: unknown field; did you mean \"colours\"?");
    refuses("{\"count\": 1, \"zzzzzzzz\": []}",
            "f.json: /zzzzzzzz: unknown field; known are count, least, word, "
            "colours, map, inner");
}

static void test_all_at_once(void)
{
    struct problems p;
    struct err e = ERR_INIT;

    check("{\"count\": 0, \"word\": 7, \"colours\": [\"blue\", 1],"
          " \"inner\": {\"of\": 1}}",
          &p);
    ok(p.len == 6, "six mistakes are six lines (%zu)", p.len);
    problems_to_err(&p, &e);
    ok(strstr(e.text, "and 5 more"), "as an error: the first and a number");
    problems_release(&p);
    for (int i = 0; i < PROBLEMS_MAX + 7; i++)
        problems_add(&p, "line %d", i);
    ok(p.len == PROBLEMS_MAX && p.more == 7, "the rest are only counted");
    problems_release(&p);
}

static void test_quote(void)
{
    struct buf b = {.limit = 1000};

    quote_add(&b, STR_LIT("a\tb\x1b[31m\xc2\x9b\xff\xe2\x82\xac"), 100);
    is(buf_str(&b), "a b?[31m??\xe2\x82\xac",
       "control characters and bad bytes cannot reach a terminal");
    buf_reset(&b);
    quote_add(&b, STR_LIT("\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"), 3);
    is(buf_str(&b), "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac",
       "as long as allowed: whole");
    buf_reset(&b);
    quote_add(&b, STR_LIT("\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"), 2);
    is(buf_str(&b), "\xe2\x82\xac…", "longer: cut between characters");
    buf_release(&b);
}

SUITE(schema)
{
    test_accepts();
    test_types();
    test_bounds();
    test_words();
    test_fields();
    test_all_at_once();
    test_quote();
}
