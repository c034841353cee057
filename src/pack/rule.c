/* rule.c: rules and hints of a pack, read from JSON and applied. */
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
    return strcmp(id, RULE_LIMIT_HIT) == 0 || strncmp(id, "source-", 7) == 0;
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

static bool rule_add(struct rules *r, const json_t *json,
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
    rule->form =
        (enum form_kind)schema_choice(json, "view", form_names, FORM_KINDS);
    rule->rx = rx_new(schema_text(json, "pcre"), &e);
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
        good = rule_add(r, json_array_get(list, i), at, out) && good;
    return good;
}

void rules_release(struct rules *r)
{
    for (size_t i = 0; i < r->len; i++)
        rx_free(r->rule[i].rx);
    free(r->rule);
    *r = (struct rules){0};
}

const struct rule *ruleset_find(const struct ruleset *s, const char *id)
{
    for (size_t i = 0; i < s->len; i++)
        if (strcmp(s->rule[i].id, id) == 0)
            return &s->rule[i];
    return NULL;
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
    struct buf message = BUF_INIT;
    size_t from = 0;

    out->len = out->more = 0;
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

/* ---- hints ---- */

const char *const hint_stages[HINT_STAGES] = {
    [HINT_PARSE] = "parse",     [HINT_CHECK] = "check",
    [HINT_COMPILE] = "compile", [HINT_LAUNCH] = "launch",
    [HINT_RUN] = "run",         [HINT_NUMERIC] = "numeric",
};

static bool id_is_new(const struct hints *h, const char *id, const char *file,
                      struct problems *out)
{
    for (size_t i = 0; i < h->len; i++) {
        if (strcmp(h->hint[i].id, id) == 0) {
            problems_add(out,
                         "%s: /hints/%zu/id: \"%s\" is the id of /hints/%zu; "
                         "choose another",
                         file, h->len, id, i);
            return false;
        }
    }
    return true;
}

static bool groups_exist(const struct hints *h, const struct hint *hint,
                         const char *file, struct problems *out)
{
    int most = rx_model_groups(hint->text);
    int groups = (int)rx_group_count(hint->rx);

    if (most <= groups)
        return true;
    problems_add(out,
                 "%s: /hints/%zu/hint: $%d, but the pattern has %d groups; "
                 "add the group or use a lower number",
                 file, h->len, most, groups);
    return false;
}

static bool add_hint(struct hints *h, const json_t *json, const char *file,
                     struct problems *out)
{
    struct hint *hint = &h->hint[h->len];
    struct err e = ERR_INIT;
    bool good;

    hint->id = schema_text(json, "id");
    hint->text = schema_text(json, "hint");
    hint->cite = schema_text(json, "cite");
    hint->stage =
        (enum hint_stage)schema_choice(json, "stage", hint_stages, HINT_STAGES);
    hint->rx = rx_new(schema_text(json, "pcre"), &e);
    good = id_is_new(h, hint->id, file, out);
    if (!hint->rx) {
        problems_add(out, "%s: /hints/%zu/pcre: %s; correct the pattern", file,
                     h->len, e.text);
        good = false;
    } else {
        good = groups_exist(h, hint, file, out) && good;
    }
    h->len++;
    return good;
}

bool hints_init(struct hints *h, const json_t *list, const char *file,
                struct problems *out)
{
    size_t count = json_array_size(list);
    bool good = true;

    *h = (struct hints){.hint = xcalloc(count, sizeof(*h->hint))};
    for (size_t i = 0; i < count; i++)
        good = add_hint(h, json_array_get(list, i), file, out) && good;
    return good;
}

void hints_release(struct hints *h)
{
    for (size_t i = 0; i < h->len; i++)
        rx_free(h->hint[i].rx);
    free(h->hint);
    *h = (struct hints){0};
}

/* Copies the text, with a "?" for each byte that is not UTF-8. */
static char *clean(struct str text)
{
    char *p = xstrndup(text.n ? text.p : "", text.n);
    size_t at = 0;

    while ((at += str_utf8_check(p + at, text.n - at)) < text.n)
        p[at++] = '?';
    return p;
}

const struct hint *hint_find(const struct hints *h, struct rx_ctx *c,
                             enum hint_stage stage, struct str text,
                             struct buf *out)
{
    const struct hint *found = NULL;
    char *copy = clean(text);

    text.p = copy;
    rx_round(c);
    for (size_t i = 0; i < h->len && !found; i++) {
        const struct hint *hint = &h->hint[i];

        if (stage != HINT_ANY && hint->stage != stage)
            continue;
        if (rx_find(c, hint->rx, text, 0) != RX_MATCH)
            continue;
        rx_expand(c, text, hint->text, out);
        found = hint;
    }
    free(copy);
    return found;
}
