/* test_page.c: the page with its data inside, and what a report leaves out of a
 * large run. */
#include "base/mem.h"
#include "scratch.h"
#include "store_fixture.h"
#include "tap.h"
#include "web/page.h"
#include "web/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_json(void)
{
    json_t *j = json_pack("{s:s}", "a",
                          "</script>&\xe2\x80\xa8\xe2\x80\xa9\xe2"
                          "\x80\xaa\"\\");
    struct buf b = BUF_INIT;

    page_json(j, &b);
    is(buf_str(&b),
       "{\"a\":\"\\u003c/script\\u003e\\u0026\\u2028\\u2029\xe2\x80\xaa\\\"\\\\"
       "\"}",
       "nothing in a text can end the element that it is in");
    buf_release(&b);
    json_decref(j);
}

static void test_served(void)
{
    struct buf page = BUF_INIT, policy = BUF_INIT;

    page_put(NULL, &page);
    page_policy(true, &policy);
    ok(strstr(buf_str(&page), buf_str(&policy)) &&
           strstr(buf_str(&policy), "connect-src 'self'"),
       "a served page may ask the server that it came from");
    ok(strstr(buf_str(&page), "id=\"data\"></script>"), "and has no data");
    ok(!strstr(buf_str(&page), "@POLICY@") && !strstr(buf_str(&page), "@DATA@"),
       "every place is filled");
    buf_release(&page);
    buf_release(&policy);
}

/* ---- a large run ---- */

enum { TASKS = 70, ATTEMPTS = 3, CODE = 50 << 10 };

/* Text that no two attempts share, and that no packer makes small. */
static char *noise(unsigned seed)
{
    char *text = xmalloc(CODE + 1);

    for (int i = 0; i < CODE; i++) {
        seed = seed * 1664525u + 1013904223u;
        text[i] = i % 80 ? (char)('a' + (seed >> 24) % 26) : '\n';
    }
    text[CODE] = '\0';
    return text;
}

static void put_attempt(struct store *s, int64_t task, int64_t attempt)
{
    bool good = task % 2 == 0 && attempt == ATTEMPTS;
    char code[HASH_HEX], *text = noise((unsigned)(task * 10 + attempt));
    struct row_attempt a = {.task = task,
                            .attempt = attempt,
                            .method = "sampling",
                            .island = -1,
                            .code = code,
                            .verdict = good ? "correct" : "wrong_values",
                            .solved = good};

    store_blob(s, str_of(text), code);
    store_attempt(s, &a);
    free(text);
}

static void put_run(const char *dir)
{
    struct store *s = db_open(dir, STORE_NEW, NULL);

    for (int64_t i = 0; i < TASKS; i++) {
        char id[32], source[HASH_HEX];
        struct row_task t = {.ord = i, .id = id, .hash = id, .source = source};

        snprintf(id, sizeof(id), "t/%lld", (long long)i);
        store_blob(s, STR_LIT("pass\n"), source);
        store_task(s, &t);
        for (int64_t k = 1; k <= ATTEMPTS; k++)
            put_attempt(s, i, k);
    }
    db_close(s);
}

/* The data of a report; the caller owns the reference. */
static json_t *data_in(const struct buf *page)
{
    static const char before[] = "id=\"data\">";
    const char *from = strstr(buf_str(page), before) + strlen(before);
    struct err e = ERR_INIT;

    return jsn_parse("data", from, (size_t)(strstr(from, "</script>") - from),
                     &e);
}

static void test_large(void)
{
    char *dir = scratch_dir();
    struct err e = ERR_INIT;
    struct run_view v, *runs[] = {&v};
    json_t *data, *tasks, *left;
    size_t solved = 0, unsolved = 0;
    struct buf page = BUF_INIT;
    const char *key;

    put_run(dir);
    if (!ok(run_view_open(dir, &v, &e) == 0 &&
                report_html(runs, 1, &page, &e) == 0,
            "a report: %s", e.text))
        return;
    ok(page.len < REPORT_DETAILS + (1 << 20),
       "32 MB of code and changes make a report of %zu bytes", page.len);
    data = data_in(&page);
    tasks = json_object_get(data, "tasks");
    left = json_object_get(data, "left_out");
    json_object_foreach(tasks, key, left)
    {
        bool even = strchr("02468", key[strlen(key) - 1]) != NULL;

        solved += even;
        unsolved += !even;
    }
    left = json_object_get(data, "left_out");
    ok(solved == TASKS / 2, "every solved task is in it: %zu", solved);
    ok(unsolved > 5 && unsolved < TASKS / 2,
       "and as many of the others as fit: %zu", unsolved);
    ok(json_integer_value(json_object_get(left, "kept")) ==
               (json_int_t)(solved + unsolved) &&
           json_integer_value(json_object_get(left, "attempts")) ==
               TASKS * ATTEMPTS - (json_int_t)(solved + unsolved),
       "it says how many attempts were left out");
    json_decref(data);
    buf_release(&page);
    run_view_close(&v);
}

SUITE(page)
{
    test_json();
    test_served();
    test_large();
}
