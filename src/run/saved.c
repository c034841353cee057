/* saved.c: what queries to the database of a run may ask about the texts it stores:
 *
 *   text(hash)                        the text
 *   record(hash, times)               a verdict's record, its times back in it, as JSON
 *   error(hash)                       the first line of its error that says something, or NULL
 *   doubt(hash, times)                why the time of a kernel is hard to believe, or NULL
 *   messages(hash)                    a prompt as JSON: [{"role", "text"}, …]
 *   prompt(hash)                      the same as text, each message below its role
 *   changes(hash, name, hash, name)   from the first text to the second, as diff -u says it
 *
 * Without a hash the answer is NULL. Records are large and do not change, so what was
 * found in one is kept. */
#include "run/query.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/udiff.h"
#include "verify/verdict.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

struct saved {
    struct store *store;
    struct map errors, doubts; /* by hash; by hash and times */
    struct arena memory;
};

static void saved_free(void *arg)
{
    struct saved *t = arg;

    map_release(&t->errors);
    map_release(&t->doubts);
    arena_release(&t->memory);
    free(t);
}

static const char *saved_arg(sqlite3_value *v)
{
    const char *text = (const char *)sqlite3_value_text(v);

    return text ? text : "";
}

/* The query fails with what cannot be read: query_fail() passes it on. */
static void saved_fail(sqlite3_context *c, const struct err *e)
{
    sqlite3_result_error(c, e->text, -1);
    sqlite3_result_error_code(c, e->kind == ERR_INPUT ? QUERY_BAD_TEXT
                                                      : SQLITE_ERROR);
}

static void saved_result(sqlite3_context *c, const char *p, size_t n)
{
    sqlite3_result_text64(c, p, n, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static bool saved_read(sqlite3_context *c, const char *hash, struct buf *out)
{
    struct saved *t = sqlite3_user_data(c);
    struct err e = ERR_INIT;

    if (!hash[0] || store_read_blob(t->store, hash, out, &e) == 0)
        return true;
    saved_fail(c, &e);
    return false;
}

static void sql_text(sqlite3_context *c, int n, sqlite3_value **v)
{
    const char *hash = saved_arg(v[0]);
    struct buf b = BUF_INIT;

    (void)n;
    if (hash[0] && saved_read(c, hash, &b))
        saved_result(c, buf_str(&b), b.len);
    buf_release(&b);
}

/* NULL: there is none, or it cannot be read. */
static json_t *saved_record(sqlite3_context *c, const char *hash,
                            const char *times)
{
    struct saved *t = sqlite3_user_data(c);
    struct err e = ERR_INIT;
    json_t *record = hash[0] ? store_record(t->store, hash, times, &e) : NULL;

    if (e.kind != ERR_NONE)
        saved_fail(c, &e);
    return record;
}

static void saved_result_json(sqlite3_context *c, json_t *v)
{
    char *text = json_dumps(v, JSON_COMPACT);

    if (text)
        saved_result(c, text, strlen(text));
    free(text);
    json_decref(v);
}

static void sql_record(sqlite3_context *c, int n, sqlite3_value **v)
{
    json_t *record = saved_record(c, saved_arg(v[0]), saved_arg(v[1]));

    (void)n;
    if (record)
        saved_result_json(c, record);
}

/* A finding that is kept; "" is NULL. */
static void saved_result_found(sqlite3_context *c, const char *found)
{
    if (found[0])
        sqlite3_result_text(c, found, -1, SQLITE_STATIC);
}

static void sql_error(sqlite3_context *c, int n, sqlite3_value **v)
{
    struct saved *t = sqlite3_user_data(c);
    struct str hash = str_of(saved_arg(v[0])), line;
    const char *known = hash.n ? map_get(&t->errors, hash) : "";
    json_t *record;

    (void)n;
    if (!known) {
        record = saved_record(c, hash.p, NULL);
        if (!record)
            return;
        line = verdict_error(record);
        known = arena_strndup(&t->memory, line.n ? line.p : "", line.n);
        map_set(&t->errors, hash, (void *)known);
        json_decref(record);
    }
    saved_result_found(c, known);
}

static void sql_doubt(sqlite3_context *c, int n, sqlite3_value **v)
{
    struct saved *t = sqlite3_user_data(c);
    const char *hash = saved_arg(v[0]), *times = saved_arg(v[1]), *known;
    json_t *record;
    char *key;

    (void)n;
    if (!hash[0] || !strstr(times, "reference_ms"))
        return;
    key = xasprintf("%s %s", hash, times);
    known = map_get(&t->doubts, str_of(key));
    if (!known && (record = saved_record(c, hash, times))) {
        known = plausible_doubt(record, &t->memory);
        known = known ? known : "";
        map_set(&t->doubts, str_of(key), (void *)known);
        json_decref(record);
    }
    if (known)
        saved_result_found(c, known);
    free(key);
}

/* ---- prompts: stored as a list of messages, and those as lists of parts ---- */

static int saved_add_message(struct store *s, const json_t *said,
                             query_message_fn *add, void *arg, struct err *e)
{
    const json_t *parts = json_object_get(said, "parts"), *part;
    struct buf b = BUF_INIT;
    size_t first = 0, i;
    int rc = 0;

    json_array_foreach(parts, i, part)
    {
        const char *hash = json_string_value(part);

        if (rc == 0 && hash && hash[0])
            rc = store_read_blob(s, hash, &b, e);
        first = i ? first : b.len;
    }
    if (rc == 0)
        add(jsn_str(said, "role"), (struct str){buf_str(&b), b.len}, first,
            arg);
    buf_release(&b);
    return rc;
}

int query_messages(struct store *s, const char *hash, query_message_fn *add,
                   void *arg, struct err *e)
{
    struct buf b = BUF_INIT;
    json_t *list = NULL, *said;
    int rc = 1;
    size_t i;

    if (!hash || !hash[0])
        return 0;
    if (store_read_blob(s, hash, &b, e) == 0)
        list = jsn_parse("a stored prompt", buf_str(&b), b.len, e);
    json_array_foreach(list, i,
                       said) if (rc > 0 && saved_add_message(s, said, add, arg,
                                                             e) < 0) rc = -1;
    rc = list ? rc : -1;
    json_decref(list);
    buf_release(&b);
    return rc;
}

/* As query_messages(); -1: the query fails. */
static int saved_each_message(sqlite3_context *c, sqlite3_value *hash,
                              query_message_fn *add, void *arg)
{
    struct saved *t = sqlite3_user_data(c);
    struct err e = ERR_INIT;
    int rc = query_messages(t->store, saved_arg(hash), add, arg, &e);

    if (rc < 0)
        saved_fail(c, &e);
    return rc;
}

static void saved_add_json(const char *role, struct str text, size_t first,
                           void *arg)
{
    (void)first;
    json_array_append_new(arg, json_pack("{s:o, s:o}", "role",
                                         jsn_text(role, strlen(role)), "text",
                                         jsn_text(text.p, text.n)));
}

static void sql_messages(sqlite3_context *c, int n, sqlite3_value **v)
{
    json_t *list = json_array();

    (void)n;
    if (saved_each_message(c, v[0], saved_add_json, list) >= 0)
        saved_result_json(c, json_incref(list));
    json_decref(list);
}

static void saved_put_message(const char *role, struct str text, size_t first,
                              void *arg)
{
    struct buf *out = arg;

    (void)first;
    buf_printf(out, "%s[%s]\n", out->len ? "\n" : "", role);
    buf_put(out, text.p, text.n);
}

static void sql_prompt(sqlite3_context *c, int n, sqlite3_value **v)
{
    struct buf b = BUF_INIT;

    (void)n;
    if (saved_each_message(c, v[0], saved_put_message, &b) > 0 && b.len)
        saved_result(c, buf_str(&b), b.len);
    buf_release(&b);
}

static void sql_changes(sqlite3_context *c, int n, sqlite3_value **v)
{
    struct buf old = BUF_INIT, now = BUF_INIT, out = BUF_INIT;

    (void)n;
    if (saved_read(c, saved_arg(v[0]), &old) &&
        saved_read(c, saved_arg(v[2]), &now)) {
        udiff_put((struct str){buf_str(&old), old.len}, saved_arg(v[1]),
                  (struct str){buf_str(&now), now.len}, saved_arg(v[3]), &out);
        saved_result(c, buf_str(&out), out.len);
    }
    buf_release(&old);
    buf_release(&now);
    buf_release(&out);
}

static const struct query_function saved_functions[] = {
    {"text", 1, sql_text, NULL},         {"record", 2, sql_record, NULL},
    {"error", 1, sql_error, NULL},       {"doubt", 2, sql_doubt, NULL},
    {"messages", 1, sql_messages, NULL}, {"prompt", 1, sql_prompt, NULL},
    {"changes", 4, sql_changes, NULL},   {0},
};

void query_texts(struct store *s)
{
    struct saved *t = xcalloc(1, sizeof(*t));

    t->store = s;
    query_functions(store_reader(s));
    query_define(store_reader(s), saved_functions, t, saved_free);
}
