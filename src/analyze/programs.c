/* programs.c: programs read for their words. Where a table is about what programs
 * say, these functions read them, and a query does the rest:
 *
 *   words(run, hash)         the primitives of a program, a list (source/primitives.h)
 *   code_lines(run, hash)    how many of its lines have code
 *   operators(run, hash)     the operators of a task in order, a list
 *   feedback(run, hash)      what the model was told
 *   error_kind(text)         a diagnostic without its figures
 *   taught(run, hash, guide) of several seeds: {word: "seeds" or "guide"}
 *   mentioned(text, word)    whether a text shows it (source/primitives.h)
 *   has_word(text, word)     whether its last part stands there as a whole word
 *   last_part(word)          "cumsum" of "language.cumsum", in lower case
 *   family(operators)        what kind of program has them
 */
#include "analyze/programs.h"

#include "analyze/views.h"
#include "base/json.h"
#include "base/mem.h"
#include "run/query.h"
#include "source/operators.h"
#include "source/primitives.h"
#include "source/py_normal.h"
#include "verify/verdict.h"

#include <ctype.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

void programs_init(struct programs *p, const struct programs_run *run)
{
    *p = (struct programs){.run = run};
    map_init(&p->words);
    arena_init(&p->memory);
}

void programs_release(struct programs *p)
{
    map_release(&p->words);
    arena_release(&p->memory);
}

int programs_text(const struct programs *p, int64_t nr, const char *hash,
                  struct buf *out, struct err *e)
{
    if (!hash)
        return 0;
    if (store_read_blob(p->run[nr].store, hash, out, e) < 0)
        return err_wrap(e, "%s", p->run[nr].dir);
    return 0;
}

/* The text that (run, hash) name; on failure the query fails. Release it. */
static bool programs_read(sqlite3_context *c, sqlite3_value **v,
                          struct buf *out)
{
    struct err e = ERR_INIT;

    buf_init(out, BUF_UNLIMITED);
    if (programs_text(sqlite3_user_data(c), sqlite3_value_int64(v[0]),
                      (const char *)sqlite3_value_text(v[1]), out, &e) == 0)
        return true;
    sqlite3_result_error(c, e.text, -1);
    buf_release(out);
    return false;
}

static void programs_result(sqlite3_context *c, const char *text, size_t n)
{
    sqlite3_result_text(c, text, (int)n, SQLITE_TRANSIENT);
}

static const char *programs_arg(sqlite3_value *v)
{
    const char *text = (const char *)sqlite3_value_text(v);

    return text ? text : "";
}

/* ---- programs ---- */

static char *programs_list(const struct map *set, struct arena *a)
{
    json_t *list = json_array();
    char *text, *kept;

    for (size_t i = 0; i < set->len; i++)
        json_array_append_new(
            list, jsn_text(set->items[i].key, set->items[i].key_len));
    text = json_dumps(list, JSON_COMPACT);
    kept = arena_strdup(a, text ? text : "[]");
    free(text);
    json_decref(list);
    return kept;
}

static void sql_words(sqlite3_context *c, int n, sqlite3_value **v)
{
    struct programs *p = sqlite3_user_data(c);
    struct str hash = str_of(programs_arg(v[1]));
    const char *known = map_get(&p->words, hash);
    struct buf code;
    struct arena a;
    struct map set;

    (void)n;
    if (!known) {
        if (!programs_read(c, v, &code))
            return;
        arena_init(&a);
        map_init(&set);
        primitives_of((struct str){buf_str(&code), code.len}, &set, NULL, &a);
        known = programs_list(&set, &p->memory);
        map_set(&p->words, hash, (void *)known);
        map_release(&set);
        arena_release(&a);
        buf_release(&code);
    }
    programs_result(c, known, strlen(known));
}

static void sql_code_lines(sqlite3_context *c, int n, sqlite3_value **v)
{
    struct str rest, line;
    int64_t lines = 0;
    struct buf code;
    struct arena a;

    (void)n;
    if (!programs_read(c, v, &code))
        return;
    arena_init(&a);
    rest = py_strip((struct str){buf_str(&code), code.len}, true, &a);
    while (str_cut(&rest, '\n', &line))
        lines += str_trim(line).n > 0;
    sqlite3_result_int64(c, lines + (str_trim(rest).n > 0));
    arena_release(&a);
    buf_release(&code);
}

static void sql_operators(sqlite3_context *c, int n, sqlite3_value **v)
{
    json_t *list = json_array();
    struct py_tokens t;
    struct buf source;
    struct arena a;
    char *text;

    (void)n;
    if (programs_read(c, v, &source)) {
        arena_init(&a);
        py_lex(&t, (struct str){buf_str(&source), source.len}, &a);
        for (const char **op = operators_chain(&t, &a); *op; op++)
            json_array_append_new(list, jsn_text(*op, strlen(*op)));
        text = json_dumps(list, JSON_COMPACT);
        programs_result(c, text, strlen(text));
        free(text);
        arena_release(&a);
        buf_release(&source);
    }
    json_decref(list);
}

static void sql_mentioned(sqlite3_context *c, int n, sqlite3_value **v)
{
    (void)n;
    sqlite3_result_int(c, primitives_mentioned(str_of(programs_arg(v[0])),
                                               programs_arg(v[1])));
}

static const char *programs_last_part(const char *name)
{
    const char *last = name + strlen(name);

    while (last > name && last[-1] != '.' && last[-1] != ':')
        last--;
    return last;
}

static void sql_last_part(sqlite3_context *c, int n, sqlite3_value **v)
{
    char *last = xstrdup(programs_last_part(programs_arg(v[0])));

    (void)n;
    for (char *p = last; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    programs_result(c, last, strlen(last));
    free(last);
}

static bool programs_is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static void sql_has_word(sqlite3_context *c, int n, sqlite3_value **v)
{
    const char *text = programs_arg(v[0]),
               *last = programs_last_part(programs_arg(v[1]));
    size_t len = strlen(last);
    bool found = false;

    (void)n;
    for (const char *p = strstr(text, last); p && !found;
         p = strstr(p + 1, last))
        found = (p == text || !programs_is_name(p[-1])) &&
                !programs_is_name(p[len]);
    sqlite3_result_int(c, found);
}

static void sql_family(sqlite3_context *c, int n, sqlite3_value **v)
{
    (void)n;
    sqlite3_result_text(c, views_family(programs_arg(v[0])), -1, SQLITE_STATIC);
}

/* ---- what a run was taught ---- */

struct teaching {
    bool begun, inside;
    struct map seeds, all, aliases;
    struct str guide;
    struct arena memory;
};

/* Without a hash there is no seed, but a guide. */
static void teaching_step(sqlite3_context *c, int n, sqlite3_value **v)
{
    struct teaching *t = sqlite3_aggregate_context(c, sizeof(*t));
    struct buf text;
    struct str code;

    (void)n;
    if (!t->begun) {
        t->begun = true;
        arena_init(&t->memory);
        map_init(&t->seeds);
        map_init(&t->all);
        map_init(&t->aliases);
        t->guide = str_of(arena_strdup(&t->memory, programs_arg(v[2])));
    }
    if (!programs_read(c, v, &text))
        return;
    code.p = arena_strndup(&t->memory, buf_str(&text), text.len);
    code.n = text.len;
    buf_release(&text);
    t->inside |= primitives_of(code, &t->seeds, &t->aliases, &t->memory);
    primitives_of(code, &t->all, NULL, &t->memory);
}

static void teaching_end(sqlite3_context *c)
{
    struct teaching *t = sqlite3_aggregate_context(c, 0);
    json_t *taught = json_object();
    char *text;

    if (t) {
        primitives_in_text(t->guide, &t->aliases, t->inside, &t->all,
                           &t->memory);
        for (size_t i = 0; i < t->all.len; i++) {
            struct str key = {t->all.items[i].key, t->all.items[i].key_len};

            json_object_setn_new(
                taught, key.p, key.n,
                json_string(map_get(&t->seeds, key) ? "seeds" : "guide"));
        }
        map_release(&t->seeds);
        map_release(&t->all);
        map_release(&t->aliases);
        arena_release(&t->memory);
    }
    text = json_dumps(taught, JSON_COMPACT);
    programs_result(c, text, strlen(text));
    free(text);
    json_decref(taught);
}

/* ---- records ---- */

static void sql_feedback(sqlite3_context *c, int n, sqlite3_value **v)
{
    struct err e = ERR_INIT;
    struct buf text;
    json_t *record;

    (void)n;
    if (!programs_read(c, v, &text))
        return;
    record = jsn_parse("a record", buf_str(&text), text.len, &e);
    if (record)
        programs_result(c, jsn_str(record, "feedback"),
                        strlen(jsn_str(record, "feedback")));
    json_decref(record);
    buf_release(&text);
}

static void sql_error_kind(sqlite3_context *c, int n, sqlite3_value **v)
{
    struct buf kind;

    (void)n;
    if (sqlite3_value_type(v[0]) == SQLITE_NULL)
        return;
    buf_init(&kind, BUF_UNLIMITED);
    verdict_error_kind(programs_arg(v[0]), &kind);
    programs_result(c, buf_str(&kind), kind.len);
    buf_release(&kind);
}

/* ---- the list ---- */

static const struct query_function programs_list_of_functions[] = {
    {"words", 2, sql_words, NULL},
    {"code_lines", 2, sql_code_lines, NULL},
    {"operators", 2, sql_operators, NULL},
    {"feedback", 2, sql_feedback, NULL},
    {"error_kind", 1, sql_error_kind, NULL},
    {"mentioned", 2, sql_mentioned, NULL},
    {"has_word", 2, sql_has_word, NULL},
    {"last_part", 1, sql_last_part, NULL},
    {"family", 1, sql_family, NULL},
    {"taught", 3, teaching_step, teaching_end},
    {0},
};

void programs_functions(struct programs *p, sqlite3 *db)
{
    query_define(db, programs_list_of_functions, p, NULL);
}
