/* check.c: forms of a source, rules over forms, findings in order.
 *
 * A candidate is refused here before anything runs, so a rule that is wrong costs a
 * correct kernel, and one that never ends costs the run. Patterns therefore have
 * limits on steps, memory and time, and one that exceeds them is told as a finding of
 * its own, never as a pass; a source that cannot be read has that as its only finding,
 * since rules on half a file would find half of what is there. Who computed a result
 * is not decided here: text can be written to look like anything. */
#include "verify/check.h"

#include "base/arena.h"
#include "base/mem.h"
#include "pack/quote.h"
#include "source/form.h"
#include "source/place.h"
#include "source/py_lex.h"

#include <stdlib.h>
#include <string.h>

const char *const check_severities[2] = {
    [CHECK_ERROR] = "error",
    [CHECK_WARNING] = "warning",
};

/* A finding before it has a line: its offset in the source. */
struct raw {
    const char *rule;
    enum check_severity severity;
    bool whole_file;
    size_t at;
    size_t order; /* in which it was found */
    const char *message;
};

struct check {
    struct arena memory; /* of the current file */
    struct rx_ctx *rx;
    struct rule_hits hits;
    struct raw *raw;
    size_t len, cap;
    struct finding *finding;
    size_t finding_cap;
    struct buf line;
    /* the current file */
    struct str src;
    const struct ruleset *set;
    struct py_tokens tokens;
    struct form form[FORM_KINDS];
    bool made[FORM_KINDS];
};

struct check *check_new(const struct rx_limits *limits)
{
    struct check *c = xcalloc(1, sizeof(*c));

    buf_init(&c->line, BUF_UNLIMITED);
    c->rx = rx_ctx_new(limits ? limits : &rx_limits_default);
    return c;
}

void check_free(struct check *c)
{
    if (!c)
        return;
    arena_release(&c->memory);
    buf_release(&c->line);
    rx_ctx_free(c->rx);
    free(c->raw);
    free(c->finding);
    free(c);
}

static struct raw *check_add(struct check *c, const char *rule, size_t at,
                             const char *message)
{
    struct raw *r;

    c->raw = xgrow(c->raw, &c->cap, c->len, sizeof(*c->raw));
    r = &c->raw[c->len];
    *r = (struct raw){.rule = rule, .at = at, .message = message};
    r->order = c->len++;
    return r;
}

static void check_add_whole(struct check *c, const char *rule,
                            const char *message)
{
    check_add(c, rule, 0, message)->whole_file = true;
}

static void check_make_form(struct check *c, enum form_kind kind)
{
    struct form *v = c->form;

    switch (kind) {
    case FORM_CODE:
        form_code(&v[FORM_CODE], &c->tokens, &c->memory);
        return;
    case FORM_ALL:
        form_all(&v[FORM_ALL], c->src);
        return;
    case FORM_CUT:
        form_cut(&v[FORM_CUT], c->src, &c->memory);
        return;
    }
    BUG("form %d", (int)kind);
}

static struct str check_form(struct check *c, enum form_kind kind)
{
    const struct form *v = &c->form[kind];

    if (!c->made[kind]) {
        check_make_form(c, kind);
        c->made[kind] = true;
        /* Patterns are not safe on anything else. */
        if (str_utf8_check(v->data, v->len) != v->len)
            BUG("the %s view is not UTF-8", form_names[kind]);
    }
    return (struct str){v->data, v->len};
}

/* The offset in the source of a match in a form. A match behind the last byte
 * belongs to that byte. */
static size_t check_source_at(const struct check *c, enum form_kind kind,
                              size_t at)
{
    const struct form *v = &c->form[kind];

    if (!v->origin)
        return at;
    if (v->len == 0)
        return 0;
    return v->origin[at < v->len ? at : v->len - 1];
}

static void check_add_hits(struct check *c, const char *rule,
                           enum form_kind form, enum check_severity severity)
{
    for (size_t i = 0; i < c->hits.len; i++)
        check_add(c, rule, check_source_at(c, form, c->hits.hit[i].at),
                  c->hits.hit[i].message)
            ->severity = severity;
}

static void check_add_limit(struct check *c, const struct rule *rule)
{
    bool time = c->hits.end == RX_TIME;

    check_add_whole(
        c, RULE_LIMIT_HIT,
        arena_printf(&c->memory,
                     "rule %s was given up: the solution takes too %s "
                     "to search; write it more plainly",
                     rule->id, time ? "long" : "many steps"));
}

/* False when the time for this file is used up. */
static bool check_try(struct check *c, const struct rule *rule)
{
    struct str text = check_form(c, rule->form);

    rule_apply(rule, c->rx, text, &c->memory, &c->hits);
    if (rule->kind != RULE_REQUIRE)
        check_add_hits(c, rule->id, rule->form,
                       rule->kind == RULE_WARN ? CHECK_WARNING : CHECK_ERROR);
    if (c->hits.end == RX_LIMIT || c->hits.end == RX_TIME)
        check_add_limit(c, rule);
    else if (rule->kind == RULE_REQUIRE && c->hits.len == 0)
        check_add_whole(c, rule->id, rule->message);
    return c->hits.end != RX_TIME;
}

static void check_try_all(struct check *c)
{
    rx_round(c->rx);
    for (size_t i = 0; i < c->set->len; i++)
        if (!check_try(c, &c->set->rule[i]))
            return;
}

static int check_by_place(const void *pa, const void *pb)
{
    const struct raw *a = pa, *b = pb;

    if (a->whole_file != b->whole_file)
        return a->whole_file ? -1 : 1;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* All of a token has one place, so two matches in it are the same finding. */
static bool check_is_repeated(const struct raw *first, const struct raw *r)
{
    const struct raw *before = r - 1;

    return r > first && before->rule == r->rule && before->at == r->at &&
           before->whole_file == r->whole_file &&
           strcmp(before->message, r->message) == 0;
}

static bool check_ends_line(char ch)
{
    return ch == '\n' || ch == '\r';
}

static const char *check_excerpt(struct check *c, size_t at)
{
    size_t start = at, end = at, bom = place_bom(c->src);

    while (start > bom && !check_ends_line(c->src.p[start - 1]))
        start--;
    while (end < c->src.n && !check_ends_line(c->src.p[end]))
        end++;
    buf_reset(&c->line);
    quote_add(&c->line, (struct str){c->src.p + start, end - start},
              CHECK_EXCERPT_CHARS);
    return arena_strndup(&c->memory, buf_str(&c->line), c->line.len);
}

static void check_add_finding(struct check *c, const struct raw *r,
                              struct place *place, struct check_result *out)
{
    struct finding *f = &c->finding[out->len];
    const struct finding *before = out->len ? f - 1 : NULL;

    *f = (struct finding){r->rule, r->severity, 0, 0, r->message, ""};
    if (!r->whole_file) {
        place_to(place, c->src, r->at);
        f->line = place->line;
        f->column = place->column;
        f->excerpt = before && before->line == f->line
                         ? before->excerpt
                         : check_excerpt(c, r->at);
    }
    out->len++;
    if (r->severity == CHECK_ERROR)
        out->errors++;
    else
        out->warnings++;
}

static struct check_result check_finish(struct check *c)
{
    struct check_result out = {0};
    struct place place;

    if (c->len) {
        qsort(c->raw, c->len, sizeof(*c->raw), check_by_place);
        c->finding =
            xgrow(c->finding, &c->finding_cap, c->len - 1, sizeof(*c->finding));
    }
    place_init(&place, c->src);
    for (size_t i = 0; i < c->len; i++)
        if (!check_is_repeated(c->raw, &c->raw[i]))
            check_add_finding(c, &c->raw[i], &place, &out);
    out.finding = c->finding;
    out.accepted = out.errors == 0;
    return out;
}

struct check_result check_source(struct check *c, const struct ruleset *set,
                                 struct str src)
{
    const struct py_problem *problem = &c->tokens.problem;

    arena_reset(&c->memory);
    c->len = 0;
    c->set = set;
    c->src = src.p ? src : STR_LIT("");
    memset(c->made, 0, sizeof(c->made));
    py_lex(&c->tokens, c->src, &c->memory);
    if (problem->id)
        check_add(c, problem->id, problem->at, problem->message);
    else
        check_try_all(c);
    return check_finish(c);
}
