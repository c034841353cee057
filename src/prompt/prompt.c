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

#include <stdlib.h>
#include <string.h>

#define MAX_GUIDE ((size_t)4 << 20)
#define MAX_LINE  300 /* of the feedback of attempts that are not the parent */

const char *const prompt_stages[3] = {
    [PROMPT_PLAN] = "plan",
    [PROMPT_CODE] = "code",
    [PROMPT_EVOLVE] = "evolve",
};

static const struct str nothing = {"", 0};

/* ---- identity and size ---- */

static void add_piece(struct prompt *out, size_t message, struct str text,
                      const char *hash)
{
    struct prompt_piece *x = &out->piece[out->pieces];

    if (text.n == 0)
        return;
    *x = (struct prompt_piece){.message = message, .text = text};
    if (hash)
        memcpy(x->hash, hash, HASH_HEX);
    else
        hash_hex(text.p, text.n, x->hash);
    out->pieces++;
}

/* Every text is hashed once: the prompt's own hash is made from those of its
 * pieces. */
static void identify(struct prompt *out)
{
    struct hash h;
    size_t at = 0;

    hash_init(&h);
    for (size_t i = 0; i < out->count; i++) {
        const char *role = out->message[i].role;

        hash_add(&h, role, strlen(role) + 1);
        for (; at < out->pieces && out->piece[at].message == i; at++)
            hash_add(&h, out->piece[at].hash, HASH_HEX);
    }
    hash_finish_hex(&h, out->hash);
}

void prompt_make(struct prompt *out, struct str system, struct str user,
                 struct arena *a)
{
    *out = (struct prompt){0};
    out->piece = arena_alloc(a, 2 * sizeof(*out->piece));
    if (system.n)
        out->message[out->count++] =
            (struct llm_message){"system", system, system.n};
    out->message[out->count++] = (struct llm_message){"user", user, 0};
    for (size_t i = 0; i < out->count; i++) {
        add_piece(out, i, out->message[i].text, NULL);
        out->tokens += llm_estimate_tokens(out->message[i].text);
    }
    identify(out);
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

/* The modules a candidate may import: `a`, `b`, … */
static struct str list_imports(const struct pack *pack, struct arena *a)
{
    const struct ruleset *set = &pack->set[PACK_DEFAULT];
    struct buf list;
    struct str out = {NULL, 0};

    if (!set->name || !set->limits_imports)
        return out;
    buf_init(&list, BUF_UNLIMITED);
    for (size_t i = 0; set->imports[i]; i++)
        buf_printf(&list, "%s`%s`", i ? ", " : "", set->imports[i]);
    out = (struct str){arena_strndup(a, buf_str(&list), list.len), list.len};
    buf_release(&list);
    return out;
}

static int read_part(const struct pack *pack, const char *name, struct arena *a,
                     struct str *out, struct err *e)
{
    char *path = fs_join(pack->dir, name);
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
    free(path);
    return rc;
}

static void warn_of_size(const struct pack *pack, struct str guide)
{
    int64_t tokens = llm_estimate_tokens(guide);

    if (tokens > pack->prompt.max_guide_tokens)
        log_warn("%s/guide.md: about %lld tokens; the pack means to have at "
                 "most %lld (/prompt/max_guide_tokens)",
                 pack->dir, (long long)tokens,
                 (long long)pack->prompt.max_guide_tokens);
}

static struct prompt_start *make_start(struct prompts *p,
                                       const struct pack *pack, bool no_card,
                                       struct err *e)
{
    struct prompt_start *s = xcalloc(1, sizeof(*s));
    struct str values[PROMPT_SLOTS] = {0};

    arena_init(&s->memory);
    if (read_part(pack, "guide.md", &s->memory, &values[SLOT_GUIDE], e) < 0 ||
        (!no_card &&
         read_part(pack, "card.md", &s->memory, &values[SLOT_CARD], e) < 0)) {
        arena_release(&s->memory);
        free(s);
        return NULL;
    }
    warn_of_size(pack, values[SLOT_GUIDE]);
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

    if (prompt_files_load(p, dir, e) < 0) {
        prompts_free(p);
        return NULL;
    }
    return p;
}

void prompts_free(struct prompts *p)
{
    while (p->starts) {
        struct prompt_start *next = p->starts->next;

        arena_release(&p->starts->memory);
        free(p->starts);
        p->starts = next;
    }
    prompt_files_release(p);
    free(p);
}

/* ---- the parts of one prompt ---- */

struct building {
    const struct prompts *p;
    const struct prompt_input *in;
    struct arena *a;
    struct str *example; /* as they are shown */
};

static struct str one_example(const struct building *b, size_t i)
{
    const struct prompt_example *x = &b->in->example[i];
    struct str v[PROMPT_SLOTS] = {0}, code[2];

    v[SLOT_NUMBER] = prompt_number((int64_t)i + 1, b->a);
    v[SLOT_PROBLEM] = code[0] = prompt_tidy(x->problem);
    code[1] = prompt_tidy(x->solution);
    if (x->plan.p)
        v[SLOT_PLAN] = str_trim(x->plan);
    if (b->in->stage != PROMPT_PLAN)
        v[SLOT_SOLUTION] = code[1];
    v[SLOT_FENCE] = prompt_fence(code, 2, b->a);
    v[SLOT_TAG] = str_of(b->in->pack->prompt.answer_fence);
    return prompt_render(b->p, FILE_EXAMPLE, nothing, v, b->a);
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

static struct str all_examples(const struct building *b)
{
    for (size_t i = 0; i < b->in->example_count; i++)
        b->example[i] = one_example(b, i);
    return prompt_join(b->example, b->in->example_count, b->a);
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
static int fill(const struct building *b, struct str *v, struct err *e)
{
    const struct prompt_input *in = b->in;

    if (!prompt_precision(in->precision, v))
        return err_set(e, ERR_INPUT,
                       "precision '%s': there are fp32, fp16 and bf16",
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
    v[SLOT_ATTEMPTS] = all_attempts(b);
    if (in->plan.n)
        v[SLOT_PLAN] = str_trim(in->plan);
    if (in->stage != PROMPT_EVOLVE)
        return 0;
    if (!in->parent)
        BUG("evolution of %s without a parent", in->task_id);
    v[SLOT_PARENT] = one_attempt(b, in->parent, true);
    v[in->diff ? SLOT_DIFF : SLOT_REWRITE] = nothing;
    return 0;
}

/* Where `x` stands in `s`, or NULL. Its start is rare: that alone is searched. */
static const char *find_text(struct str s, struct str x)
{
    size_t start = x.n < 24 ? x.n : 24;
    const char *at = s.p, *end = s.p + s.n;

    while (x.n && (at = memmem(at, (size_t)(end - at), x.p, start)) &&
           (size_t)(end - at) >= x.n) {
        if (memcmp(at, x.p, x.n) == 0)
            return at;
        at++;
    }
    return NULL;
}

/* The example's hash as it stands in this prompt, taken once for all prompts
 * that show it there. */
static const char *known_hash(const struct building *b, size_t i,
                              const struct prompt_start *start)
{
    struct prompt_seen *seen = b->in->example[i].seen;
    struct str x = b->example[i];

    if (!seen || i >= PROMPT_PLACES)
        return NULL;
    seen += 2 * i + (b->in->stage == PROMPT_PLAN);
    if (seen->start != start) {
        hash_hex(x.p, x.n, seen->hash);
        seen->start = start;
    }
    return seen->hash;
}

/* A message cut at its examples. */
static void cut(const struct building *b, struct prompt *out, size_t message,
                struct str rest, const struct prompt_start *start)
{
    for (size_t i = 0; i < b->in->example_count; i++) {
        struct str x = b->example[i];
        const char *at = find_text(rest, x);

        if (!at)
            continue;
        add_piece(out, message, (struct str){rest.p, (size_t)(at - rest.p)},
                  NULL);
        add_piece(out, message, (struct str){at, x.n}, known_hash(b, i, start));
        rest.n -= (size_t)(at - rest.p) + x.n;
        rest.p = at + x.n;
    }
    add_piece(out, message, rest, NULL);
}

/* Hash and size; those of the pack's start are known. */
static void finish(const struct building *b, struct prompt *out,
                   const struct prompt_start *start)
{
    struct str system = out->message[0].text,
               own = {system.p + start->text.n, system.n - start->text.n};

    out->piece =
        arena_alloc(b->a, (3 + 4 * b->in->example_count) * sizeof(*out->piece));
    add_piece(out, 0, (struct str){system.p, start->text.n}, start->hash);
    cut(b, out, 0, own, start);
    cut(b, out, 1, out->message[1].text, start);
    identify(out);
    out->tokens = start->tokens + llm_estimate_tokens(own) +
                  llm_estimate_tokens(out->message[1].text);
}

int prompts_build(struct prompts *p, const struct prompt_input *in,
                  struct arena *a, struct prompt *out, struct err *e)
{
    static const enum prompt_file files[] = {[PROMPT_PLAN] = FILE_PLAN,
                                             [PROMPT_CODE] = FILE_CODE,
                                             [PROMPT_EVOLVE] = FILE_EVOLVE};
    const struct building b = {
        p, in, a, arena_alloc(a, (in->example_count + 1) * sizeof(struct str))};
    struct str v[PROMPT_SLOTS] = {0}, system, user;
    const struct prompt_start *start = find_start(p, in->pack, in->no_card, e);

    if (!start || fill(&b, v, e) < 0)
        return err_wrap(e, "prompt for %s with %s", in->task_id, in->pack->id);
    if (in->stage == PROMPT_EVOLVE)
        system = prompt_render(p, FILE_EVOLVE_SYSTEM, start->text, v, a);
    else
        system = (struct str){arena_strndup(a, start->text.p, start->text.n),
                              start->text.n};
    user = prompt_render(p, files[in->stage], nothing, v, a);
    *out = (struct prompt){
        .message = {{"system", system, start->text.n}, {"user", user, 0}},
        .count = 2};
    finish(&b, out, start);
    return 0;
}
