/* ask.c: the questions that are no attempts, and what answers to them say. */
#include "prompt/ask.h"

#include "base/mem.h"
#include "prompt/extract.h"
#include "prompt/files.h"
#include "source/py_normal.h"

#include <stdlib.h>
#include <string.h>

const char prompt_borrowing_shape[] =
    "{\"borrowed\": [{\"parent_id\": \"1\", \"concept\": \"short name\", "
    "\"parent_lines\": [[3, 9]], \"target_lines\": [[12, 18]], "
    "\"rationale\": \"one sentence\"}]}";

void prompts_repair(const struct prompts *p, struct str reply,
                    const char *shape, const char *why, struct arena *a,
                    struct prompt *out)
{
    struct str v[PROMPT_SLOTS] = {0};

    v[SLOT_WHY] = str_of(why);
    v[SLOT_SHAPE] = str_of(shape);
    v[SLOT_REPLY] = str_trim(reply);
    prompt_make(p, PROMPT_FILES, FILE_REPAIR, v, a, out);
}

/* ---- borrowing ---- */

/* "0001: " before each line. */
static struct str ask_numbered(struct str code, struct arena *a)
{
    struct str line, rest = code = prompt_tidy(code);
    size_t lines = 1, n = 0;
    char *p;

    while (str_cut(&rest, '\n', &line))
        lines++;
    p = arena_alloc(a, code.n + lines * 24 + 1);
    rest = code;
    for (size_t i = 1; str_part(&rest, '\n', &line); i++) {
        n += (size_t)snprintf(p + n, 24, "%04zu: ", i);
        memcpy(p + n, line.p, line.n);
        n += line.n;
        if (rest.p)
            p[n++] = '\n';
    }
    return (struct str){p, n};
}

void prompts_borrowing(const struct prompts *p,
                       const struct prompt_part *target,
                       const struct prompt_part *parent, size_t parent_count,
                       struct arena *a, struct prompt *out)
{
    struct str v[PROMPT_SLOTS] = {0};
    struct str *part = arena_alloc(a, (parent_count + 1) * sizeof(*part));

    for (size_t i = 0; i < parent_count; i++) {
        struct str w[PROMPT_SLOTS] = {0};

        w[SLOT_NUMBER] = prompt_number((int64_t)i + 1, a);
        w[SLOT_NAME] = str_of(parent[i].name);
        w[SLOT_CODE] = ask_numbered(parent[i].text, a);
        part[i] = prompt_render(p, FILE_BORROWING_PARENT, STR_LIT(""), w, a);
    }
    v[SLOT_NAME] = str_of(target->name);
    v[SLOT_CODE] = ask_numbered(target->text, a);
    v[SLOT_EXAMPLES] = prompt_join(part, parent_count, a);
    prompt_make(p, FILE_BORROWING_SYSTEM, FILE_BORROWING, v, a, out);
}

/* ---- plans of kernels ---- */

int prompts_backfill(const struct prompts *p, const struct prompt_backfill *in,
                     struct arena *a, struct prompt *out, struct err *e)
{
    struct str v[PROMPT_SLOTS] = {0}, code[2];

    if (!prompt_precision(in->precision, v))
        return err_set(e, ERR_INPUT,
                       "precision '%s' is not one of " PRECISION_CHOICES,
                       in->precision);
    code[0] = v[SLOT_TASK] = prompt_tidy(in->task);
    code[1] = v[SLOT_SOLUTION] = prompt_tidy(in->solution);
    v[SLOT_FENCE] = prompt_fence(code, 2, a);
    v[SLOT_DEVICE] = str_of(in->device);
    v[SLOT_DSL] = str_of(in->pack->prompt_name);
    v[SLOT_TAG] = str_of(in->pack->prompt.answer_fence);
    prompt_make(p, PROMPT_FILES, FILE_BACKFILL, v, a, out);
    return 0;
}

/* ---- decomposition ---- */

void prompts_decompose(const struct prompts *p,
                       const struct prompt_decompose *d, struct arena *a,
                       struct prompt *out)
{
    struct str v[PROMPT_SLOTS] = {0};

    v[SLOT_NAME] = str_of(d->name);
    v[SLOT_TASK] = prompt_tidy(d->task);
    v[SLOT_FENCE] = prompt_fence(&v[SLOT_TASK], 1, a);
    v[SLOT_LEVEL] = str_of(d->level);
    v[SLOT_NUMBER] = prompt_number(d->pieces, a);
    if (d->trace.n)
        v[SLOT_TRACE] = str_trim(d->trace);
    if (d->proposal.n)
        v[SLOT_PROPOSAL] = str_trim(d->proposal);
    if (d->refusals.n)
        v[SLOT_REFUSALS] = str_trim(d->refusals);
    if (d->last.n)
        v[SLOT_REPLY] = str_trim(d->last);
    prompt_make(p, FILE_DECOMPOSE_SYSTEM, FILE_DECOMPOSE, v, a, out);
}

/* ---- a guide ---- */

#define ANSWER_WORDS 500 /* of a question about a part */

void prompts_guide(const struct prompts *p, const struct prompt_guide *g,
                   struct arena *a, struct prompt *out)
{
    const struct str yes = STR_LIT("yes");
    struct str v[PROMPT_SLOTS] = {0};

    v[SLOT_DSL] = str_of(g->dsl);
    v[SLOT_DOCUMENT] = prompt_tidy(g->contents);
    v[SLOT_LIMIT] = prompt_number(g->question ? ANSWER_WORDS : g->words, a);
    if (g->question)
        v[SLOT_QUESTION] = str_of(g->question);
    if (g->history.n)
        v[SLOT_NOTES] = str_trim(g->history);
    if (g->may_ask)
        v[SLOT_ASK] = yes;
    if (g->last)
        v[SLOT_LAST] = yes;
    v[g->whole ? SLOT_WHOLE : SLOT_LONG] = yes;
    prompt_make(p, FILE_GUIDE_SYSTEM,
                g->question ? FILE_GUIDE_PART : FILE_GUIDE_ROOT, v, a, out);
}

/* ---- what an answer about borrowing says ---- */

/* The lines of the target, as the prompt numbers them. */
struct borrowed_lines {
    bool *blank, *named;
    size_t len;
};

static void borrowed_lines_read(struct str code, struct borrowed_lines *l)
{
    struct str rest = prompt_tidy(code), line;

    l->blank = xcalloc(rest.n + 1, sizeof(*l->blank));
    l->named = xcalloc(rest.n + 1, sizeof(*l->named));
    while (str_part(&rest, '\n', &line))
        l->blank[l->len++] = str_trim(line).n == 0;
}

static int borrowed_mark(struct borrowed_lines *l, const json_t *ranges,
                         struct err *e)
{
    const json_t *range;
    size_t i;

    if (!json_is_array(ranges))
        return err_set(e, ERR_INPUT, "\"target_lines\" is not a list");
    json_array_foreach(ranges, i, range)
    {
        const json_t *from = json_array_get(range, 0),
                     *to = json_array_get(range, 1);

        if (!json_is_integer(from) || !json_is_integer(to))
            return err_set(e, ERR_INPUT,
                           "\"target_lines\" holds no [first, last]");
        for (json_int_t k =
                 json_integer_value(from) < 1 ? 1 : json_integer_value(from);
             k <= json_integer_value(to) && k <= (json_int_t)l->len; k++)
            l->named[k - 1] = true;
    }
    return 0;
}

/* Ids are "1", "2", …; some models write numbers. */
static bool borrowed_is_parent(const json_t *id, size_t count)
{
    int64_t n = json_is_integer(id) ? json_integer_value(id) : 0;

    if (json_is_string(id))
        str_to_i64(str_of(json_string_value(id)), 0, INT64_MAX, &n);
    return n >= 1 && (uint64_t)n <= count;
}

static int borrowed_findings(const json_t *list, size_t parents,
                             struct borrowed_lines *l,
                             struct prompt_borrowed *out, struct err *e)
{
    const json_t *x;
    size_t i;

    if (!json_is_array(list))
        return err_set(e, ERR_INPUT, "\"borrowed\" is not a list");
    json_array_foreach(list, i, x)
    {
        if (!borrowed_is_parent(json_object_get(x, "parent_id"), parents)) {
            out->dropped++;
            continue;
        }
        if (borrowed_mark(l, json_object_get(x, "target_lines"), e) < 0)
            return -1;
        out->findings++;
    }
    return 0;
}

int prompts_borrowing_read(struct str reply, struct str target,
                           size_t parent_count, struct prompt_borrowed *out,
                           struct err *e)
{
    json_t *v = extract_json(reply, e);
    struct borrowed_lines l = {0};
    int rc;

    *out = (struct prompt_borrowed){0};
    if (!v)
        return -1;
    borrowed_lines_read(target, &l);
    rc = borrowed_findings(json_object_get(v, "borrowed"), parent_count, &l,
                           out, e);
    for (size_t i = 0; i < l.len; i++) {
        out->lines += !l.blank[i];
        out->borrowed += !l.blank[i] && l.named[i];
    }
    json_decref(v);
    free(l.blank);
    free(l.named);
    return rc;
}

/* ---- the reviewer ---- */

const char review_shape[] =
    "{\"score\": 0.95, \"summary\": \"one sentence\", \"reasons\": "
    "[\"what was found\"]}";

int review_build(const struct prompts *p, const struct review_input *in,
                 struct arena *a, struct prompt *out, struct err *e)
{
    bool cxx = in->pack->language == PACK_CXX_IN_PYTHON;
    struct str v[PROMPT_SLOTS] = {0}, code[2];

    if (!prompt_precision(in->precision, v))
        return err_set(e, ERR_INPUT,
                       "precision '%s' is not one of " PRECISION_CHOICES,
                       in->precision);
    code[0] = v[SLOT_TASK] = prompt_tidy(in->task);
    code[1] = v[SLOT_SOLUTION] = prompt_tidy(py_strip(in->solution, cxx, a));
    v[SLOT_FENCE] = prompt_fence(code, 2, a);
    v[SLOT_DSL] = str_of(in->pack->prompt_name);
    v[SLOT_TAG] = str_of(in->pack->prompt.answer_fence);
    prompt_make(p, FILE_REVIEW_SYSTEM, FILE_REVIEW, v, a, out);
    return 0;
}

static int review_reasons(const json_t *list, struct arena *a,
                          struct review *out, struct err *e)
{
    if (!json_is_array(list))
        return err_set(e, ERR_INPUT, "\"reasons\" is not a list of strings");
    out->reason =
        arena_alloc(a, (json_array_size(list) + 1) * sizeof(*out->reason));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));

        if (!text)
            return err_set(e, ERR_INPUT,
                           "\"reasons\" is not a list of strings");
        out->reason[out->reason_count++] = arena_strdup(a, text);
    }
    return 0;
}

static int review_answer(const json_t *v, struct arena *a, struct review *out,
                         struct err *e)
{
    const json_t *score = json_object_get(v, "score");
    const json_t *summary = json_object_get(v, "summary");

    if (!json_is_object(v))
        return err_set(e, ERR_INPUT, "the answer is not an object");
    if (!json_is_number(score))
        return err_set(e, ERR_INPUT, "\"score\" is not a number");
    out->score = json_number_value(score);
    if (!(out->score >= 0 && out->score <= 1))
        return err_set(e, ERR_INPUT, "\"score\" is not between 0 and 1");
    if (summary && !json_is_string(summary))
        return err_set(e, ERR_INPUT, "\"summary\" is not a string");
    out->summary = summary ? arena_strdup(a, json_string_value(summary)) : "";
    return review_reasons(json_object_get(v, "reasons"), a, out, e);
}

int review_parse(struct str reply, struct arena *a, struct review *out,
                 struct err *e)
{
    json_t *v = extract_json(reply, e);
    int rc;

    *out = (struct review){.summary = ""};
    if (!v)
        return -1;
    rc = review_answer(v, a, out, e);
    json_decref(v);
    return rc;
}

void review_key(const char *model, const struct prompt *p, char key[HASH_HEX])
{
    struct hash h;

    hash_init(&h);
    hash_add(&h, model, strlen(model) + 1);
    hash_add(&h, p->hash, strlen(p->hash));
    hash_finish_hex(&h, key);
}
