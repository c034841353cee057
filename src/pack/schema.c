/* schema.c: checks JSON against tables. Recursion goes as deep as the table,
 * not the file. */
#include "pack/schema.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "pack/quote.h"
#include "pack/rx.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUOTED_CHARS 60 /* of a string in an error */

/* A position in the file, linked to its parent. */
struct step {
    const struct step *up;
    const char *key; /* NULL: an element of a list */
    size_t index;
};

struct run {
    const char *file;
    struct problems *out;
};

static void schema_check_value(const struct run *r, const struct schema *s,
                               const json_t *v, const struct step *at);

static void put_key(struct buf *b, const char *key)
{
    for (; *key; key++) {
        if (*key == '~')
            buf_puts(b, "~0");
        else if (*key == '/')
            buf_puts(b, "~1");
        else
            buf_putc(b, *key);
    }
}

static void put_pointer(struct buf *b, const struct step *at)
{
    struct buf key = BUF_INIT;

    if (!at->up) /* the root has no name */
        return;
    put_pointer(b, at->up);
    buf_putc(b, '/');
    if (!at->key) {
        buf_printf(b, "%zu", at->index);
        return;
    }
    put_key(&key, at->key);
    quote_add(b, buf_view(&key), QUOTED_CHARS);
    buf_release(&key);
}

static void schema_put_quoted(struct buf *b, const char *s)
{
    buf_putc(b, '"');
    quote_add(b, str_of(s), QUOTED_CHARS);
    buf_putc(b, '"');
}

static void schema_put_names(struct buf *b, const char *const *name,
                             size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_printf(b, "%s%s", i ? ", " : "", name[i]);
}

/* Completes the message in `b` and adds it to the problems. */
static void schema_report(const struct run *r, const struct step *at,
                          struct buf *b, const char *remedy)
{
    struct buf where = BUF_INIT;

    put_pointer(&where, at);
    if (remedy)
        buf_printf(b, "; %s", remedy);
    problems_add(r->out, "%s: %s: %s", r->file, where.len ? where.data : "/",
                 buf_str(b));
    buf_release(&where);
    buf_release(b);
}

__attribute__((format(printf, 4, 5))) static void fail(const struct run *r,
                                                       const struct step *at,
                                                       const char *remedy,
                                                       const char *fmt, ...)
{
    struct buf b = BUF_INIT;
    va_list ap;
    char *text = NULL;

    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        BUG("schema: no memory");
    va_end(ap);
    buf_puts(&b, text);
    free(text);
    schema_report(r, at, &b, remedy);
}

static const char *type_name(enum schema_type t)
{
    static const char *const names[] = {
        [SCHEMA_STRING] = "a string",    [SCHEMA_INT] = "a whole number",
        [SCHEMA_BOOL] = "true or false", [SCHEMA_LIST] = "a list",
        [SCHEMA_OBJECT] = "an object",   [SCHEMA_MAP] = "an object",
    };

    return names[t];
}

static const char *value_name(const json_t *v)
{
    static const char *const names[] = {
        [JSON_OBJECT] = "an object",     [JSON_ARRAY] = "a list",
        [JSON_STRING] = "a string",      [JSON_INTEGER] = "a number",
        [JSON_REAL] = "a broken number", [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",          [JSON_NULL] = "null",
    };

    return names[json_typeof(v)];
}

static bool has_type(const struct schema *s, const json_t *v)
{
    switch (s->type) {
    case SCHEMA_STRING:
        return json_is_string(v);
    case SCHEMA_INT:
        return json_is_integer(v);
    case SCHEMA_BOOL:
        return json_is_boolean(v);
    case SCHEMA_LIST:
        return json_is_array(v);
    case SCHEMA_OBJECT:
    case SCHEMA_MAP:
        return json_is_object(v);
    }
    BUG("schema type %d", (int)s->type);
}

static void add_nearest(struct buf *b, const char *word,
                        const char *const *names, size_t count)
{
    const char *near = str_nearest(word, names, count);

    if (near)
        buf_printf(b, "; did you mean \"%s\"?", near);
}

static void check_choice(const struct run *r, const struct schema *s,
                         const char *text, const struct step *at)
{
    struct buf b = BUF_INIT;

    for (size_t i = 0; i < s->choice_count; i++)
        if (strcmp(s->choices[i], text) == 0)
            return;
    schema_put_quoted(&b, text);
    buf_puts(&b, " is not one of ");
    schema_put_names(&b, s->choices, s->choice_count);
    add_nearest(&b, text, s->choices, s->choice_count);
    schema_report(r, at, &b, s->remedy);
}

static bool whole_match(const char *pattern, const char *text)
{
    struct err e = ERR_INIT;
    char *anchored = xasprintf("\\A(?:%s)\\z", pattern);
    struct rx *rx = rx_new(anchored, &e);
    struct rx_ctx *c = rx_ctx_new(&rx_limits_default);
    bool found;

    if (!rx)
        BUG("schema pattern %s: %s", pattern, e.text);
    found = rx_find(c, rx, str_of(text), 0) == RX_MATCH;
    rx_ctx_free(c);
    rx_free(rx);
    free(anchored);
    return found;
}

static void check_pattern(const struct run *r, const struct schema *s,
                          const char *text, const struct step *at)
{
    struct buf b = BUF_INIT;

    if (!s->pattern || !text[0] || whole_match(s->pattern, text))
        return;
    schema_put_quoted(&b, text);
    buf_printf(&b, " does not match %s", s->pattern);
    schema_report(r, at, &b, s->remedy);
}

static void check_string(const struct run *r, const struct schema *s,
                         const json_t *v, const struct step *at)
{
    const char *text = json_string_value(v);
    int64_t n = (int64_t)json_string_length(v);

    if (n == 0 && s->min)
        fail(r, at, s->remedy, "must not be empty");
    else if (n < s->min)
        fail(r, at, s->remedy, "shorter than %" PRId64 " bytes", s->min);
    else if (s->max && n > s->max)
        fail(r, at, s->remedy, "longer than %" PRId64 " bytes", s->max);
    else if (s->choices)
        check_choice(r, s, text, at);
    else
        check_pattern(r, s, text, at);
}

static void check_int(const struct run *r, const struct schema *s,
                      const json_t *v, const struct step *at)
{
    int64_t n = json_integer_value(v);

    if (n < s->min || (s->max && n > s->max)) {
        struct buf b = BUF_INIT;

        buf_printf(&b, "%" PRId64 " is not ", n);
        if (s->max)
            buf_printf(&b, "within %" PRId64 "..%" PRId64, s->min, s->max);
        else
            buf_printf(&b, "at least %" PRId64, s->min);
        schema_report(r, at, &b, s->remedy);
    }
}

static bool check_size(const struct run *r, const struct schema *s, size_t n,
                       const struct step *at)
{
    if ((int64_t)n < s->min)
        fail(r, at, s->remedy, "has %zu elements, needs %" PRId64, n, s->min);
    else if (s->max && (int64_t)n > s->max)
        fail(r, at, s->remedy, "has %zu elements, at most %" PRId64, n, s->max);
    else
        return true;
    return false;
}

/* Quadratic, but lists are short or rejected by `max`, and a set would take
 * more code. */
static bool stands_before(const json_t *list, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (json_equal(json_array_get(list, i), json_array_get(list, j)))
            return true;
    return false;
}

static void schema_check_list(const struct run *r, const struct schema *s,
                              const json_t *v, const struct step *at)
{
    size_t n = json_array_size(v);

    if (!check_size(r, s, n, at))
        return;
    for (size_t i = 0; i < n; i++) {
        struct step here = {at, NULL, i};
        const json_t *item = json_array_get(v, i);

        schema_check_value(r, s->element, item, &here);
        if (s->unique && json_is_string(item) && stands_before(v, i))
            fail(r, &here, "remove it", "stands twice");
    }
}

static void schema_check_map(const struct run *r, const struct schema *s,
                             const json_t *v, const struct step *at)
{
    const char *key;
    json_t *item;

    if (!check_size(r, s, json_object_size(v), at))
        return;
    json_object_foreach((json_t *)v, key, item)
    {
        struct step here = {at, key, 0};

        check_pattern(r, s, key, &here);
        schema_check_value(r, s->element, item, &here);
    }
}

static const struct schema_field *field_named(const struct schema *s,
                                              const char *name)
{
    for (const struct schema_field *f = s->fields; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

static void unknown_field(const struct run *r, const struct schema *s,
                          const struct step *at)
{
    const char *names[64];
    size_t count = 0;
    const char *near;
    struct buf b = BUF_INIT;

    for (const struct schema_field *f = s->fields; f->name && count < 64; f++)
        names[count++] = f->name;
    buf_puts(&b, "unknown field");
    near = str_nearest(at->key, names, count);
    if (near) {
        buf_printf(&b, "; did you mean \"%s\"?", near);
    } else {
        buf_puts(&b, "; known are ");
        schema_put_names(&b, names, count);
    }
    schema_report(r, at, &b, NULL);
}

static void check_object(const struct run *r, const struct schema *s,
                         const json_t *v, const struct step *at)
{
    const char *key;
    json_t *item;

    for (const struct schema_field *f = s->fields; f->name; f++) {
        struct step here = {at, f->name, 0};

        if (!f->optional && !json_object_get(v, f->name))
            fail(r, &here, f->value.remedy, "missing; add %s",
                 type_name(f->value.type));
    }
    json_object_foreach((json_t *)v, key, item)
    {
        struct step here = {at, key, 0};
        const struct schema_field *f = field_named(s, key);

        if (f)
            schema_check_value(r, &f->value, item, &here);
        else
            unknown_field(r, s, &here);
    }
}

static void schema_check_value(const struct run *r, const struct schema *s,
                               const json_t *v, const struct step *at)
{
    static void (*const checks[])(const struct run *, const struct schema *,
                                  const json_t *, const struct step *) = {
        [SCHEMA_STRING] = check_string,    [SCHEMA_INT] = check_int,
        [SCHEMA_LIST] = schema_check_list, [SCHEMA_OBJECT] = check_object,
        [SCHEMA_MAP] = schema_check_map,
    };

    if (!has_type(s, v))
        fail(r, at, s->remedy, "must be %s, not %s", type_name(s->type),
             value_name(v));
    else if (s->type != SCHEMA_BOOL)
        checks[s->type](r, s, v, at);
}

bool schema_check(const struct schema *s, const json_t *v, const char *file,
                  struct problems *out)
{
    struct run r = {file, out};
    struct step root = {0};
    size_t before = out->len + out->more;

    schema_check_value(&r, s, v, &root);
    return out->len + out->more == before;
}

size_t schema_choice(const json_t *object, const char *field,
                     const char *const *choices, size_t count)
{
    const char *text = jsn_maybe(object, field);

    for (size_t i = 0; text && i < count; i++)
        if (strcmp(text, choices[i]) == 0)
            return i;
    BUG("field %s passed the schema as \"%s\"", field, text ? text : "");
}

/* ---- problems ---- */

void problems_init(struct problems *p)
{
    *p = (struct problems){0};
}

void problems_release(struct problems *p)
{
    for (size_t i = 0; i < p->len; i++)
        free(p->line[i]);
    free(p->line);
    problems_init(p);
}

void problems_add(struct problems *p, const char *fmt, ...)
{
    va_list ap;

    if (p->len == PROBLEMS_MAX) {
        p->more++;
        return;
    }
    p->line = xgrow(p->line, &p->cap, p->len, sizeof(*p->line));
    va_start(ap, fmt);
    if (vasprintf(&p->line[p->len], fmt, ap) < 0)
        BUG("problems_add: no memory");
    va_end(ap);
    p->len++;
}

int problems_to_err(const struct problems *p, struct err *e)
{
    size_t others = p->len + p->more - 1;

    if (p->len == 0)
        BUG("problems_to_err without a problem");
    if (others == 0)
        return err_set(e, ERR_INPUT, "%s", p->line[0]);
    return err_set(e, ERR_INPUT, "%s (and %zu more: monkeys pack check)",
                   p->line[0], others);
}
