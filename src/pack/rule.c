/* rule.c: rules and hints of a pack, read from JSON and applied. */
#include "pack/rule.h"

#include "base/mem.h"
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

/* ---- what lists of rules and of hints have in common ---- */

static void pattern_check_id(const json_t *list, size_t i,
                             const struct rule_place *at, struct problems *out)
{
    const char *id = jsn_maybe(json_array_get(list, i), "id");

    for (size_t k = 0; k < i; k++) {
        if (strcmp(jsn_maybe(json_array_get(list, k), "id"), id) != 0)
            continue;
        problems_add(out,
                     "%s: %s/%zu/id: \"%s\" is the id of %s/%zu; an id is "
                     "unique in its set",
                     at->file, at->pointer, i, id, at->pointer, k);
        return;
    }
}

/* NULL, and a problem, if it does not compile. The text in `field` (NULL: none) may
 * name only groups that the pattern has. */
static struct rx *pattern_compile(const json_t *list, size_t i,
                                  const char *field,
                                  const struct rule_place *at,
                                  struct problems *out)
{
    const json_t *json = json_array_get(list, i);
    int most = field ? rx_model_groups(jsn_maybe(json, field)) : -1;
    struct err e = ERR_INIT;
    struct rx *rx = rx_new(jsn_maybe(json, "pcre"), &e);

    if (!rx)
        problems_add(out, "%s: %s/%zu/pcre: %s; correct the pattern", at->file,
                     at->pointer, i, e.text);
    else if (most > (int)rx_group_count(rx))
        problems_add(out,
                     "%s: %s/%zu/%s: $%d, but the pattern has %zu groups; "
                     "add the group or use a lower number",
                     at->file, at->pointer, i, field, most, rx_group_count(rx));
    return rx;
}

/* ---- rules ---- */

static void rule_init(struct rule *rule, const json_t *list, size_t i,
                      const struct rule_place *at, struct problems *out)
{
    const json_t *json = json_array_get(list, i);
    int most;

    rule->id = jsn_maybe(json, "id");
    rule->message = jsn_maybe(json, "message");
    rule->own = at->own;
    rule->kind =
        (enum rule_kind)schema_choice(json, "kind", rule_kinds, RULE_KINDS);
    rule->form =
        (enum form_kind)schema_choice(json, "view", form_names, FORM_KINDS);
    if (rule_id_is_reserved(rule->id))
        problems_add(out,
                     "%s: %s/%zu/id: \"%s\" is a finding of the engine itself; "
                     "choose another id",
                     at->file, at->pointer, i, rule->id);
    else
        pattern_check_id(list, i, at, out);
    most = rule->kind == RULE_REQUIRE ? rx_model_groups(rule->message) : -1;
    rule->rx = pattern_compile(list, i, most < 0 ? "message" : NULL, at, out);
    if (rule->rx && most >= 0)
        problems_add(out,
                     "%s: %s/%zu/message: $%d in a \"require\" rule, which "
                     "speaks when there is no match; say it without",
                     at->file, at->pointer, i, most);
}

bool rules_init(struct rules *r, const json_t *list,
                const struct rule_place *at, struct problems *out)
{
    size_t before = out->len + out->more;

    r->len = json_array_size(list);
    r->rule = xcalloc(r->len, sizeof(*r->rule));
    for (size_t i = 0; i < r->len; i++)
        rule_init(&r->rule[i], list, i, at, out);
    return out->len + out->more == before;
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

bool hints_init(struct hints *h, const json_t *list, const char *file,
                struct problems *out)
{
    const struct rule_place at = {.file = file, .pointer = "/hints"};
    size_t before = out->len + out->more;

    h->len = json_array_size(list);
    h->hint = xcalloc(h->len, sizeof(*h->hint));
    for (size_t i = 0; i < h->len; i++) {
        const json_t *json = json_array_get(list, i);

        pattern_check_id(list, i, &at, out);
        h->hint[i] =
            (struct hint){.id = jsn_maybe(json, "id"),
                          .text = jsn_maybe(json, "hint"),
                          .cite = jsn_maybe(json, "cite"),
                          .stage = (enum hint_stage)schema_choice(
                              json, "stage", hint_stages, HINT_STAGES),
                          .rx = pattern_compile(list, i, "hint", &at, out)};
    }
    return out->len + out->more == before;
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
