/* ask.c: the questions that are no attempts. */
#include "prompt/ask.h"

#include "prompt/files.h"

#include <string.h>

static const struct str nothing = {"", 0};

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
    prompt_make(out, nothing, prompt_render(p, FILE_REPAIR, nothing, v, a), a);
}

/* ---- borrowing ---- */

/* "0001: " before each line. */
static struct str numbered(struct str code, struct arena *a)
{
    struct str line, rest = code = prompt_tidy(code);
    size_t lines = 1, n = 0;
    bool more = true;
    char *p;

    while (str_cut(&rest, '\n', &line))
        lines++;
    p = arena_alloc(a, code.n + lines * 24 + 1);
    rest = code;
    for (size_t i = 1; more; i++) {
        more = str_cut(&rest, '\n', &line);
        line = more ? line : rest;
        n += (size_t)snprintf(p + n, 24, "%04zu: ", i);
        memcpy(p + n, line.p, line.n);
        n += line.n;
        if (more)
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
    struct str *piece = arena_alloc(a, (parent_count + 1) * sizeof(*piece));

    for (size_t i = 0; i < parent_count; i++) {
        struct str w[PROMPT_SLOTS] = {0};

        w[SLOT_NUMBER] = prompt_number((int64_t)i + 1, a);
        w[SLOT_NAME] = str_of(parent[i].name);
        w[SLOT_CODE] = numbered(parent[i].text, a);
        piece[i] = prompt_render(p, FILE_BORROWING_PARENT, nothing, w, a);
    }
    v[SLOT_NAME] = str_of(target->name);
    v[SLOT_CODE] = numbered(target->text, a);
    v[SLOT_EXAMPLES] = prompt_join(piece, parent_count, a);
    prompt_make(out, prompt_render(p, FILE_BORROWING_SYSTEM, nothing, v, a),
                prompt_render(p, FILE_BORROWING, nothing, v, a), a);
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
    prompt_make(out, nothing, prompt_render(p, FILE_BACKFILL, nothing, v, a),
                a);
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
    prompt_make(out, prompt_render(p, FILE_DECOMPOSE_SYSTEM, nothing, v, a),
                prompt_render(p, FILE_DECOMPOSE, nothing, v, a), a);
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
    prompt_make(out, prompt_render(p, FILE_GUIDE_SYSTEM, nothing, v, a),
                prompt_render(p,
                              g->question ? FILE_GUIDE_PART : FILE_GUIDE_ROOT,
                              nothing, v, a),
                a);
}
