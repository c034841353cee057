/* prompt.c: what a model is sent for an attempt.
 *
 * System: system.md with the pack's guide and card; the same for every task, so
 * its text, its hash so far and its size are kept for each pack. Evolution has
 * examples and task behind it. User: the template of the stage. */
#include "prompt/prompt.h"

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "prompt/files.h"
#include "prompt/pieces.h"

#include <stdlib.h>
#include <string.h>

#define MAX_GUIDE ((size_t)4 << 20)
#define MAX_LINE  300 /* of the feedback of attempts that are not the parent */
#define OTHERS    3   /* texts that are known besides examples */

const char *const prompt_stages[3] = {
    [PROMPT_PLAN] = "plan",
    [PROMPT_CODE] = "code",
    [PROMPT_EVOLVE] = "evolve",
};

static const struct str nothing = {"", 0};

void prompt_make(struct prompt *out, struct str system, struct str user,
                 struct arena *a)
{
    *out = (struct prompt){0};
    pieces_init(out, 2, a);
    if (system.n)
        out->message[out->count++] =
            (struct llm_message){"system", system, system.n};
    out->message[out->count++] = (struct llm_message){"user", user, 0};
    for (size_t i = 0; i < out->count; i++) {
        struct str text = out->message[i].text;

        pieces_add(out, i, (struct known_text){text, NULL}, NULL);
        out->tokens += llm_estimate_tokens(text);
    }
    pieces_list(out, a);
}

/* ---- what all prompts with a pack start with ---- */

struct prompt_start {
    struct prompt_start *next;
    char pack[HASH_HEX];
    bool no_card;
    struct arena memory;
    struct str text;
    char hash[HASH_HEX]; /* of the text */
    int64_t tokens;
};

/* The modules that a candidate is told to keep to: `a`, `b`, … */
static struct str list_imports(const struct pack *pack, struct arena *a)
{
    struct buf list;
    struct str out = {NULL, 0};

    if (!pack->imports)
        return out;
    buf_init(&list, BUF_UNLIMITED);
    for (size_t i = 0; pack->imports[i]; i++)
        buf_printf(&list, "%s`%s`", i ? ", " : "", pack->imports[i]);
    out = (struct str){arena_strndup(a, buf_str(&list), list.len), list.len};
    buf_release(&list);
    return out;
}

static int read_part(const char *path, struct arena *a, struct str *out,
                     struct err *e)
{
    struct buf text;
    int rc;

    buf_init(&text, MAX_GUIDE);
    rc = fs_read(path, &text, e);
    if (rc == 0) {
        *out = prompt_tidy((struct str){buf_str(&text), text.len});
        out->p = arena_strndup(a, out->p, out->n);
    } else {
        e->kind = ERR_INPUT;
        err_wrap(e, "a prompt needs the pack's guide.md, and its card.md "
                    "unless the card is left out");
    }
    buf_release(&text);
    return rc;
}

static int read_guide(const struct prompts *p, const struct pack *pack,
                      struct arena *a, struct str *out, struct err *e)
{
    char *own = fs_join(pack->dir, "guide.md");
    const char *path = p->guide ? p->guide : own;
    int rc = read_part(path, a, out, e);
    int64_t tokens = rc == 0 ? llm_estimate_tokens(*out) : 0;

    if (tokens > pack->prompt.max_guide_tokens)
        log_warn("%s: about %lld tokens; the pack means to have at most %lld "
                 "(/prompt/max_guide_tokens)",
                 path, (long long)tokens,
                 (long long)pack->prompt.max_guide_tokens);
    free(own);
    return rc;
}

static int read_card(const struct pack *pack, struct arena *a, struct str *out,
                     struct err *e)
{
    char *path = fs_join(pack->dir, "card.md");
    int rc = read_part(path, a, out, e);

    free(path);
    return rc;
}

static struct prompt_start *make_start(struct prompts *p,
                                       const struct pack *pack, bool no_card,
                                       struct err *e)
{
    struct prompt_start *s = xcalloc(1, sizeof(*s));
    struct str values[PROMPT_SLOTS] = {0};

    arena_init(&s->memory);
    if (read_guide(p, pack, &s->memory, &values[SLOT_GUIDE], e) < 0 ||
        (!no_card && read_card(pack, &s->memory, &values[SLOT_CARD], e) < 0)) {
        arena_release(&s->memory);
        free(s);
        return NULL;
    }
    memcpy(s->pack, pack->hash, sizeof(s->pack));
    s->no_card = no_card;
    values[SLOT_DSL] = str_of(pack->prompt_name);
    values[SLOT_MUST_DEFINE] = str_of(pack->prompt.must_define);
    values[SLOT_IMPORTS] = list_imports(pack, &s->memory);
    s->text = prompt_render(p, FILE_SYSTEM, nothing, values, &s->memory);
    s->tokens = llm_estimate_tokens(s->text);
    hash_hex(s->text.p, s->text.n, s->hash);
    s->next = p->starts;
    p->starts = s;
    return s;
}

static const struct prompt_start *find_start(struct prompts *p,
                                             const struct pack *pack,
                                             bool no_card, struct err *e)
{
    for (const struct prompt_start *s = p->starts; s; s = s->next)
        if (s->no_card == no_card && strcmp(s->pack, pack->hash) == 0)
            return s;
    return make_start(p, pack, no_card, e);
}

struct prompts *prompts_load(const char *dir, struct err *e)
{
    struct prompts *p = xcalloc(1, sizeof(*p));

    p->kept = xcalloc(1, sizeof(*p->kept));
    arena_init(&p->scratch);
    if (prompt_files_load(p, dir, e) < 0) {
        prompts_free(p);
        return NULL;
    }
    return p;
}

void prompts_use_guide(struct prompts *p, const char *path)
{
    p->guide = xstrdup(path);
}

void prompts_free(struct prompts *p)
{
    free(p->guide);
    while (p->starts) {
        struct prompt_start *next = p->starts->next;

        arena_release(&p->starts->memory);
        free(p->starts);
        p->starts = next;
    }
    prompt_files_release(p);
    kept_hashes_release(p->kept);
    free(p->kept);
    arena_release(&p->scratch);
    free(p);
}

/* ---- the parts of one prompt ---- */

struct building {
    const struct prompts *p;
    const struct prompt_input *in;
    struct arena *a; /* for what the prompt is made from */
    const struct prompt_start *start;
    struct known_text *known; /* examples, task, plan */
    size_t known_count;
};

static void know(struct building *b, struct str text, const char *hash)
{
    b->known[b->known_count++] = (struct known_text){text, hash};
}

/* What an example shows behind its number is the same at every place: it is
 * hashed once for all prompts of the stage. */
static void know_example(struct building *b, size_t i, struct str text)
{
    struct prompt_seen *seen = b->in->example[i].seen;

    if (seen) {
        seen += b->in->stage == PROMPT_PLAN;
        if (seen->start != b->start) {
            hash_hex(text.p, text.n, seen->hash);
            seen->start = b->start;
        }
    }
    know(b, text, seen ? seen->hash : NULL);
}

static struct str one_example(struct building *b, size_t i)
{
    const struct prompt_example *x = &b->in->example[i];
    struct str v[PROMPT_SLOTS] = {0}, code[2], text;
    size_t behind;

    v[SLOT_NUMBER] = prompt_number((int64_t)i + 1, b->a);
    v[SLOT_PROBLEM] = code[0] = prompt_tidy(x->problem);
    code[1] = prompt_tidy(x->solution);
    if (x->plan.p)
        v[SLOT_PLAN] = str_trim(x->plan);
    if (b->in->stage != PROMPT_PLAN)
        v[SLOT_SOLUTION] = code[1];
    v[SLOT_FENCE] = prompt_fence(code, 2, b->a);
    v[SLOT_TAG] = str_of(b->in->pack->prompt.answer_fence);
    text = prompt_render(b->p, FILE_EXAMPLE, nothing, v, b->a);
    behind = template_behind(b->p->file[FILE_EXAMPLE], v, SLOT_NUMBER);
    if (behind < text.n)
        know_example(b, i, (struct str){text.p + behind, text.n - behind});
    return text;
}

static struct str first_line(struct str s)
{
    struct str line;

    s = str_trim(s);
    if (str_cut(&s, '\n', &line))
        s = str_trim(line);
    if (s.n > MAX_LINE) {
        s.n = MAX_LINE;
        s.n = str_utf8_check(s.p, s.n);
    }
    return s;
}

static struct str one_attempt(const struct building *b,
                              const struct prompt_attempt *t, bool full)
{
    struct str v[PROMPT_SLOTS] = {0};
    struct str feedback =
        full ? str_trim(t->feedback) : first_line(t->feedback);

    if (t->number)
        v[SLOT_NUMBER] = prompt_number(t->number, b->a);
    else
        v[SLOT_INITIAL] = STR_LIT("");
    v[SLOT_VERDICT] = str_of(t->verdict);
    if (b->in->stage == PROMPT_EVOLVE && t->fitness >= 0)
        v[SLOT_FITNESS] = str_of(arena_printf(b->a, "%.2f", t->fitness));
    v[SLOT_CODE] = prompt_tidy(t->code);
    if (!v[SLOT_CODE].n)
        v[SLOT_CODE] = STR_LIT("(no program was found in the reply)");
    if (feedback.n)
        v[SLOT_FEEDBACK] = feedback;
    v[SLOT_FENCE] = prompt_fence(&v[SLOT_CODE], 1, b->a);
    v[SLOT_TAG] = str_of(b->in->pack->prompt.answer_fence);
    return prompt_render(b->p, FILE_ATTEMPT, nothing, v, b->a);
}

static struct str all_examples(struct building *b)
{
    size_t n = b->in->example_count;
    struct str *example = arena_alloc_raw(b->a, (n + 1) * sizeof(*example));

    for (size_t i = 0; i < n; i++)
        example[i] = one_example(b, i);
    return prompt_join(example, n, b->a);
}

static struct str all_attempts(const struct building *b)
{
    size_t n = b->in->previous_count;
    struct str *piece = arena_alloc(b->a, (n + 1) * sizeof(*piece));

    for (size_t i = 0; i < n; i++)
        piece[i] =
            one_attempt(b, &b->in->previous[i], b->in->stage != PROMPT_EVOLVE);
    return prompt_join(piece, n, b->a);
}

/* What the templates of every stage may ask for. */
static int fill(struct building *b, struct str *v, struct err *e)
{
    const struct prompt_input *in = b->in;

    if (!prompt_precision(in->precision, v))
        return err_set(e, ERR_INPUT,
                       "precision '%s' is not one of " PRECISION_CHOICES,
                       in->precision);
    v[SLOT_DSL] = str_of(in->pack->prompt_name);
    v[SLOT_MUST_DEFINE] = str_of(in->pack->prompt.must_define);
    v[SLOT_TAG] = str_of(in->pack->prompt.answer_fence);
    v[SLOT_PLAN_HINT] = str_of(in->pack->prompt.plan_hint);
    v[SLOT_CODE_HINT] = str_of(in->pack->prompt.code_hint);
    v[SLOT_DEVICE] = str_of(in->device);
    v[SLOT_TASK] = prompt_tidy(in->task);
    v[SLOT_FENCE] = prompt_fence(&v[SLOT_TASK], 1, b->a);
    v[SLOT_EXAMPLES] = all_examples(b);
    know(b, in->task, in->task_hash); /* with the line's end, most often */
    know(b, v[SLOT_TASK], NULL);
    v[SLOT_ATTEMPTS] = all_attempts(b);
    if (in->plan.n) {
        v[SLOT_PLAN] = str_trim(in->plan);
        know(b, v[SLOT_PLAN],
             v[SLOT_PLAN].n == in->plan.n ? in->plan_hash : NULL);
    }
    if (in->stage != PROMPT_EVOLVE)
        return 0;
    if (!in->parent)
        BUG("evolution of %s without a parent", in->task_id);
    v[SLOT_PARENT] = one_attempt(b, in->parent, true);
    v[in->diff ? SLOT_DIFF : SLOT_REWRITE] = nothing;
    return 0;
}

/* Pieces and size; those of the pack's start are known. */
static void finish(const struct building *b, struct prompt *out,
                   struct arena *a)
{
    const struct prompt_start *start = b->start;
    struct str system = out->message[0].text, user = out->message[1].text,
               own = {system.p + start->text.n, system.n - start->text.n};
    struct known_text known = {{system.p, start->text.n}, start->hash};

    pieces_init(out, 3 + 4 * b->known_count, a);
    pieces_add(out, 0, known, NULL);
    pieces_cut(out, 0, own, b->known, b->known_count, b->p->kept);
    pieces_cut(out, 1, user, b->known, b->known_count, b->p->kept);
    pieces_list(out, a);
    out->tokens =
        start->tokens + llm_estimate_tokens(own) + llm_estimate_tokens(user);
}

int prompts_build(struct prompts *p, const struct prompt_input *in,
                  struct arena *a, struct prompt *out, struct err *e)
{
    static const enum prompt_file files[] = {[PROMPT_PLAN] = FILE_PLAN,
                                             [PROMPT_CODE] = FILE_CODE,
                                             [PROMPT_EVOLVE] = FILE_EVOLVE};
    const struct prompt_start *start = find_start(p, in->pack, in->no_card, e);
    struct building b = {.p = p, .in = in, .a = &p->scratch, .start = start};
    struct str v[PROMPT_SLOTS] = {0}, system, user;

    arena_reset(b.a);
    b.known =
        arena_alloc_raw(b.a, (in->example_count + OTHERS) * sizeof(*b.known));
    if (!start || fill(&b, v, e) < 0)
        return err_wrap(e, "prompt for %s with %s", in->task_id, in->pack->id);
    if (in->stage == PROMPT_EVOLVE)
        system = prompt_render(p, FILE_EVOLVE_SYSTEM, start->text, v, a);
    else
        system = start->text;
    user = prompt_render(p, files[in->stage], nothing, v, a);
    *out = (struct prompt){
        .message = {{"system", system, start->text.n}, {"user", user, 0}},
        .count = 2};
    finish(&b, out, a);
    return 0;
}
