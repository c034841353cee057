/* rule.c: reads rules from JSON and applies them. */
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
