/* rule.c: rules from JSON, and their matches. */
#include "pack/rule.h"

#include "base/mem.h"
#include "pack/quote.h"
#include "pack/schema.h"

#include <stdlib.h>
#include <string.h>

const char *const rule_kinds[RULE_KINDS] = {
    [RULE_REQUIRE] = "require",
    [RULE_FORBID] = "forbid",
    [RULE_WARN] = "warn",
};

bool rule_id_is_reserved(const char *id)
{
    return strcmp(id, RULE_LIMIT_HIT) == 0 || strcmp(id, RULE_IMPORT) == 0 ||
           strncmp(id, "source-", 7) == 0;
}

static bool id_is_good(const struct rules *r, const char *id,
                       const struct rule_place *at, struct problems *out)
{
    if (rule_id_is_reserved(id)) {
        problems_add(out,
                     "%s: %s/%zu/id: \"%s\" is a finding of the engine itself; "
                     "choose another id",
                     at->file, at->pointer, r->len, id);
        return false;
    }
    for (size_t i = 0; i < r->len; i++) {
        if (strcmp(r->rule[i].id, id) == 0) {
            problems_add(out,
                         "%s: %s/%zu/id: \"%s\" is the id of %s/%zu; an id is "
                         "unique in its set",
                         at->file, at->pointer, r->len, id, at->pointer, i);
            return false;
        }
    }
    return true;
}

static bool message_is_good(const struct rules *r, const struct rule *rule,
                            const struct rule_place *at, struct problems *out)
{
    int most = rx_model_groups(rule->message);
    int groups = (int)rx_group_count(rule->rx);

    if (most >= 0 && rule->kind == RULE_REQUIRE) {
        problems_add(out,
                     "%s: %s/%zu/message: $%d in a \"require\" rule, which "
                     "speaks when there is no match; say it without",
                     at->file, at->pointer, r->len, most);
        return false;
    }
    if (most > groups) {
        problems_add(out,
                     "%s: %s/%zu/message: $%d, but the pattern has %d groups; "
                     "add the group or use a lower number",
                     at->file, at->pointer, r->len, most, groups);
        return false;
    }
    return true;
}

static bool add_rule(struct rules *r, const json_t *json,
                     const struct rule_place *at, struct problems *out)
{
    struct rule *rule = &r->rule[r->len];
    struct err e = ERR_INIT;
    bool good;

    rule->id = schema_text(json, "id");
    rule->message = schema_text(json, "message");
    rule->own = at->own;
    rule->kind =
        (enum rule_kind)schema_choice(json, "kind", rule_kinds, RULE_KINDS);
    rule->view =
        (enum view_kind)schema_choice(json, "view", view_names, VIEW_KINDS);
    rule->pattern = schema_text(json, "pcre");
    rule->rx = rx_new(rule->pattern, &e);
    good = id_is_good(r, rule->id, at, out);
    if (!rule->rx) {
        problems_add(out, "%s: %s/%zu/pcre: %s; correct the pattern", at->file,
                     at->pointer, r->len, e.text);
        good = false;
    } else {
        good = message_is_good(r, rule, at, out) && good;
    }
    r->len++;
    return good;
}

bool rules_init(struct rules *r, const json_t *list,
                const struct rule_place *at, struct problems *out)
{
    size_t count = json_array_size(list);
    bool good = true;

    *r = (struct rules){.rule = xcalloc(count, sizeof(*r->rule))};
    for (size_t i = 0; i < count; i++)
        good = add_rule(r, json_array_get(list, i), at, out) && good;
    return good;
}

void rules_release(struct rules *r)
{
    for (size_t i = 0; i < r->len; i++)
        rx_free(r->rule[i].rx);
    free(r->rule);
    *r = (struct rules){0};
}

static bool can_join(const struct rule *r, int view)
{
    return (int)r->view == view && r->kind != RULE_REQUIRE && r->rx &&
           rx_starts_line(r->pattern);
}

void ruleset_join(struct ruleset *s)
{
    const char **patterns = xcalloc(s->len, sizeof(*patterns));

    for (int view = 0; view < VIEW_KINDS; view++) {
        size_t n = 0;

        for (size_t i = 0; i < s->len; i++)
            if (can_join(&s->rule[i], view))
                patterns[n++] = s->rule[i].pattern;
        s->any[view] = n > 1 ? rx_new_lines(patterns, n) : NULL;
        for (size_t i = 0; s->any[view] && i < s->len; i++)
            if (can_join(&s->rule[i], view))
                s->rule[i].joined = true;
    }
    free(patterns);
}

void ruleset_release(struct ruleset *s)
{
    for (int view = 0; view < VIEW_KINDS; view++)
        rx_free(s->any[view]);
    memset(s->any, 0, sizeof(s->any));
}

const struct rule *ruleset_find(const struct ruleset *s, const char *id)
{
    for (size_t i = 0; i < s->len; i++)
        if (strcmp(s->rule[i].id, id) == 0)
            return &s->rule[i];
    return NULL;
}

/* "a.*" covers what lies below a, not a itself. */
static bool entry_covers(const char *entry, struct str name)
{
    size_t n = strlen(entry);

    if (str_eq(name, entry))
        return true;
    return n > 2 && strcmp(entry + n - 2, ".*") == 0 && name.n > n - 1 &&
           memcmp(name.p, entry, n - 1) == 0;
}

bool ruleset_allows_import(const struct ruleset *s, struct str name)
{
    if (str_starts(name, ".") || str_ends(name, "*"))
        return false;
    for (const char **entry = s->imports; *entry; entry++)
        if (entry_covers(*entry, name))
            return true;
    return false;
}

static const char *with_more(struct arena *a, const char *message, size_t more)
{
    return arena_printf(a, "%s (and %zu more like it)", message, more);
}

static void keep_hit(struct rule_hits *out, size_t at, const struct buf *text,
                     struct arena *a)
{
    if (out->len == RULE_HITS_MAX) {
        out->more++;
        return;
    }
    out->hit[out->len].at = at;
    out->hit[out->len++].message = arena_strndup(a, buf_str(text), text->len);
}

static void finish_hits(struct rule_hits *out, struct arena *a)
{
    struct rule_hit *last = &out->hit[RULE_HITS_MAX - 1];

    if (out->more)
        last->message = with_more(a, last->message, out->more);
}

void rule_apply(const struct rule *r, struct rx_ctx *c, struct str text,
                struct arena *a, struct rule_hits *out)
{
    struct buf message;
    size_t from = 0;

    out->len = out->more = 0;
    buf_init(&message, BUF_UNLIMITED);
    while ((out->end = rx_find(c, r->rx, text, from)) == RX_MATCH) {
        buf_reset(&message);
        if (out->len < RULE_HITS_MAX && r->kind != RULE_REQUIRE)
            rx_expand(c, text, r->message, &message);
        keep_hit(out, rx_at(c), &message, a);
        from = rx_next(c, text);
        if (r->kind == RULE_REQUIRE)
            break;
    }
    buf_release(&message);
    finish_hits(out, a);
}

static bool next_line(struct str *text, struct str *line)
{
    if (text->n == 0)
        return false;
    if (!str_cut(text, '\n', line)) {
        *line = *text;
        text->n = 0;
    }
    return true;
}

/* The module of a line `CONTEXT import NAME`. */
static bool import_of(struct str line, struct str *name)
{
    struct str head;

    if (!str_cut(&line, ' ', &head) || !str_starts(line, "import "))
        return false;
    *name = (struct str){line.p + 7, line.n - 7};
    return true;
}

static void put_reason(struct buf *b, const struct ruleset *s, struct str name)
{
    buf_putc(b, '"');
    quote_add(b, name, 100);
    if (str_starts(name, ".")) {
        buf_puts(b, "\" is a relative import; a solution is one file");
        return;
    }
    if (str_ends(name, "*")) {
        buf_puts(b, "\" hides what it imports; import by name");
        return;
    }
    buf_puts(b, "\" is not a module that a solution may import; allowed:");
    for (const char **entry = s->imports; *entry; entry++)
        buf_printf(b, "%s %s", entry == s->imports ? "" : ",", *entry);
}

void ruleset_apply_imports(const struct ruleset *s, struct str facts,
                           struct arena *a, struct rule_hits *out)
{
    const char *start = facts.p;
    struct str line, name;
    struct buf message;

    *out = (struct rule_hits){0};
    buf_init(&message, BUF_UNLIMITED);
    while (s->limits_imports && next_line(&facts, &line)) {
        if (!import_of(line, &name) || ruleset_allows_import(s, name))
            continue;
        buf_reset(&message);
        if (out->len < RULE_HITS_MAX)
            put_reason(&message, s, name);
        keep_hit(out, (size_t)(line.p - start), &message, a);
    }
    buf_release(&message);
    finish_hits(out, a);
}
