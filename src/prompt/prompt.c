/* prompt.c: what a model is sent for an attempt.
 *
 * System: system.md with the pack's guide and card; the same for every task, so
 * its text, its hash so far and its size are kept for each pack. Evolution has
 * examples and task behind it. User: the template of the stage.
 *
 * A run of 50,000 attempts stores every prompt, and nearly all of each is in others,
 * too. So a prompt is a list of segments, cut where prompts differ: whoever keeps
 * prompts keeps each segment once, and each is hashed once. */
#include "prompt/prompt.h"

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "prompt/files.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define MAX_KEPT ((size_t)16 << 10) /* bytes of a text whose hash is kept */

/* ---- hashes of texts used last ---- */

#define KEPT_HASHES 32

/* The hashes of texts used last: what stands between the segments that differ is
 * the same in prompt after prompt. */
struct kept_hashes {
    struct kept_hash {
        char *text;
        size_t len;
        uint64_t used;
        char hash[HASH_HEX];
    } of[KEPT_HASHES];
    uint64_t clock;
};

static void kept_hashes_release(struct kept_hashes *k)
{
    for (size_t i = 0; i < KEPT_HASHES; i++)
        free(k->of[i].text);
}

static void kept_hash_set(struct kept_hash *h, struct str text)
{
    free(h->text);
    h->text = xstrndup(text.p, text.n);
    h->len = text.n;
    hash_hex(text.p, text.n, h->hash);
}

/* The one that was not used for longest makes room. */
static const char *kept_hash(struct kept_hashes *k, struct str text)
{
    struct kept_hash *oldest = k->of, *h;

    for (h = k->of; h < k->of + KEPT_HASHES; h++) {
        if (h->len == text.n && memcmp(h->text, text.p, text.n) == 0)
            break;
        if (h->used < oldest->used)
            oldest = h;
    }
    if (h == k->of + KEPT_HASHES)
        kept_hash_set(h = oldest, text);
    h->used = ++k->clock;
    return h->hash;
}

/* ---- segments ---- */

/* A text that other prompts have, too. */
struct known_text {
    struct str text;
    const char *hash; /* NULL: not known */
};

static void segments_init(struct prompt *out, size_t most, struct arena *a)
{
    out->segment = arena_alloc_raw(a, most * sizeof(*out->segment));
    out->segments = 0;
}

/* `hash` and `k` may be NULL. An empty text is no segment. */
static void segments_add(struct prompt *out, size_t message,
                         struct known_text text, struct kept_hashes *k)
{
    struct prompt_segment *x = &out->segment[out->segments];

    if (text.text.n == 0)
        return;
    x->message = message;
    x->text = text.text;
    if (!text.hash && k && text.text.n <= MAX_KEPT)
        text.hash = kept_hash(k, text.text);
    if (text.hash)
        memcpy(x->hash, text.hash, HASH_HEX);
    else
        hash_hex(text.text.p, text.text.n, x->hash);
    out->segments++;
}

/* Where `x` stands in `s`, or NULL. Its start is rare: that alone is searched. */
static const char *segments_find(struct str s, struct str x)
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

/* Pieces of `text`: what stands in it of `known`, looked for in that order, and
 * what lies between: at most 2 * count + 1. */
static void segments_cut(struct prompt *out, size_t message, struct str text,
                         const struct known_text *known, size_t count,
                         struct kept_hashes *k)
{
    for (size_t i = 0; i < count; i++) {
        struct known_text x = known[i], between = {text, NULL};
        const char *at = segments_find(text, x.text);

        if (!at)
            continue;
        between.text.n = (size_t)(at - text.p);
        x.text.p = at;
        segments_add(out, message, between, k);
        segments_add(out, message, x, k);
        text.n -= between.text.n + x.text.n;
        text.p = at + x.text.n;
    }
    segments_add(out, message, (struct known_text){text, NULL}, k);
}

/* ---- identity ---- */

/* Every text is hashed once: the prompt's hash is made from those of its
 * segments. */
static void segments_list(struct prompt *out, struct arena *a)
{
    json_t *list = json_array();
    size_t at = 0;
    char *text;

    for (size_t i = 0; i < out->count; i++) {
        json_t *parts = json_array();

        for (; at < out->segments && out->segment[at].message == i; at++)
            json_array_append_new(parts, json_string(out->segment[at].hash));
        json_array_append_new(list,
                              json_pack("{s:s, s:o}", "role",
                                        out->message[i].role, "parts", parts));
    }
    text = json_dumps(list, JSON_COMPACT);
    out->list = str_of(arena_strdup(a, text));
    hash_hex(out->list.p, out->list.n, out->hash);
    free(text);
    json_decref(list);
}

#define MAX_GUIDE ((size_t)4 << 20)
#define MAX_LINE  300 /* of the feedback of attempts that are not the parent */
#define OTHERS    3   /* texts that are known besides examples */

const char *const prompt_stages[3] = {
    [PROMPT_PLAN] = "plan",
    [PROMPT_CODE] = "code",
    [PROMPT_EVOLVE] = "evolve",
};

static const struct str nothing = {"", 0};

void prompt_make(const struct prompts *p, enum prompt_file system,
                 enum prompt_file user, const struct str *values,
                 struct arena *a, struct prompt *out)
{
    struct str text = nothing;

    *out = (struct prompt){0};
    segments_init(out, 2, a);
    if (system < PROMPT_FILES)
        text = prompt_render(p, system, nothing, values, a);
    if (text.n)
        out->message[out->count++] =
            (struct llm_message){"system", text, text.n};
    text = prompt_render(p, user, nothing, values, a);
    out->message[out->count++] = (struct llm_message){"user", text, 0};
    for (size_t i = 0; i < out->count; i++) {
        text = out->message[i].text;
        segments_add(out, i, (struct known_text){text, NULL}, NULL);
        out->tokens += llm_estimate_tokens(text);
    }
    segments_list(out, a);
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
static struct str start_imports(const struct pack *pack, struct arena *a)
{
    struct buf list = BUF_INIT;

    if (!pack->imports)
        return (struct str){NULL, 0};
    for (size_t i = 0; pack->imports[i]; i++)
        buf_printf(&list, "%s`%s`", i ? ", " : "", pack->imports[i]);
    return buf_keep(&list, a);
}

static int start_read(const char *path, struct arena *a, struct str *out,
                      struct err *e)
{
    struct buf text = {.limit = MAX_GUIDE};
    int rc;

    rc = fs_read(path, &text, e);
    if (rc == 0) {
        *out = prompt_tidy(buf_view(&text));
        out->p = arena_strndup(a, out->p, out->n);
    } else {
        e->kind = ERR_INPUT;
        err_wrap(e, "a prompt needs the pack's guide.md, and its card.md "
                    "unless the card is left out");
    }
    buf_release(&text);
    return rc;
}

static int start_guide(const struct prompts *p, const struct pack *pack,
                       struct arena *a, struct str *out, struct err *e)
{
    char *own = fs_join(pack->dir, "guide.md");
    const char *path = p->guide ? p->guide : own;
    int rc = start_read(path, a, out, e);
    int64_t tokens = rc == 0 ? llm_estimate_tokens(*out) : 0;

    if (tokens > pack->prompt.max_guide_tokens)
        log_warn("%s: about %lld tokens; the pack intends at most %lld "
                 "(/prompt/max_guide_tokens)",
                 path, (long long)tokens,
                 (long long)pack->prompt.max_guide_tokens);
    free(own);
    return rc;
}

static int start_card(const struct pack *pack, struct arena *a, struct str *out,
                      struct err *e)
{
    char *path = fs_join(pack->dir, "card.md");
    int rc = start_read(path, a, out, e);

    free(path);
    return rc;
}

static struct prompt_start *start_new(struct prompts *p,
                                      const struct pack *pack, bool no_card,
                                      struct err *e)
{
    struct prompt_start *s = xcalloc(1, sizeof(*s));
    struct str values[PROMPT_SLOTS] = {0};

    if (start_guide(p, pack, &s->memory, &values[SLOT_GUIDE], e) < 0 ||
        (!no_card && start_card(pack, &s->memory, &values[SLOT_CARD], e) < 0)) {
        arena_release(&s->memory);
        free(s);
        return NULL;
    }
    memcpy(s->pack, pack->hash, sizeof(s->pack));
    s->no_card = no_card;
    values[SLOT_DSL] = str_of(pack->prompt_name);
    values[SLOT_MUST_DEFINE] = str_of(pack->prompt.must_define);
    values[SLOT_IMPORTS] = start_imports(pack, &s->memory);
    s->text = prompt_render(p, FILE_SYSTEM, nothing, values, &s->memory);
    s->tokens = llm_estimate_tokens(s->text);
    hash_hex(s->text.p, s->text.n, s->hash);
    s->next = p->starts;
    p->starts = s;
    return s;
}

static const struct prompt_start *start_find(struct prompts *p,
                                             const struct pack *pack,
                                             bool no_card, struct err *e)
{
    for (const struct prompt_start *s = p->starts; s; s = s->next)
        if (s->no_card == no_card && strcmp(s->pack, pack->hash) == 0)
            return s;
    return start_new(p, pack, no_card, e);
}

struct prompts *prompts_load(const char *dir, struct err *e)
{
    struct prompts *p = xcalloc(1, sizeof(*p));

    p->kept = xcalloc(1, sizeof(*p->kept));
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

static void build_know(struct building *b, struct str text, const char *hash)
{
    b->known[b->known_count++] = (struct known_text){text, hash};
}

/* What an example shows behind its number is the same at every place: it is
 * hashed once for all prompts of the stage. */
static void build_know_example(struct building *b, size_t i, struct str text)
{
    struct prompt_seen *seen = b->in->example[i].seen;

    if (seen) {
        seen += b->in->stage == PROMPT_PLAN;
        if (seen->start != b->start) {
            hash_hex(text.p, text.n, seen->hash);
            seen->start = b->start;
        }
    }
    build_know(b, text, seen ? seen->hash : NULL);
}

static struct str build_example(struct building *b, size_t i)
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
        build_know_example(b, i,
                           (struct str){text.p + behind, text.n - behind});
    return text;
}

static struct str build_first_line(struct str s)
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

static struct str build_attempt(const struct building *b,
                                const struct prompt_attempt *t, bool full)
{
    struct str v[PROMPT_SLOTS] = {0};
    struct str feedback =
        full ? str_trim(t->feedback) : build_first_line(t->feedback);

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

static struct str build_examples(struct building *b)
{
    size_t n = b->in->example_count;
    struct str *example = arena_alloc_raw(b->a, (n + 1) * sizeof(*example));

    for (size_t i = 0; i < n; i++)
        example[i] = build_example(b, i);
    return prompt_join(example, n, b->a);
}

static struct str build_attempts(const struct building *b)
{
    size_t n = b->in->previous_count;
    struct str *part = arena_alloc(b->a, (n + 1) * sizeof(*part));

    for (size_t i = 0; i < n; i++)
        part[i] = build_attempt(b, &b->in->previous[i],
                                b->in->stage != PROMPT_EVOLVE);
    return prompt_join(part, n, b->a);
}

/* What the templates of every stage may ask for. */
static int build_fill(struct building *b, struct str *v, struct err *e)
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
    v[SLOT_EXAMPLES] = build_examples(b);
    build_know(b, in->task,
               in->task_hash); /* with the line's end, most often */
    build_know(b, v[SLOT_TASK], NULL);
    v[SLOT_ATTEMPTS] = build_attempts(b);
    if (in->plan.n) {
        v[SLOT_PLAN] = str_trim(in->plan);
        build_know(b, v[SLOT_PLAN],
                   v[SLOT_PLAN].n == in->plan.n ? in->plan_hash : NULL);
    }
    if (in->stage != PROMPT_EVOLVE)
        return 0;
    if (!in->parent)
        BUG("evolution of %s without a parent", in->task_id);
    v[SLOT_PARENT] = build_attempt(b, in->parent, true);
    v[in->diff ? SLOT_DIFF : SLOT_REWRITE] = nothing;
    return 0;
}

/* Pieces and size; those of the pack's start are known. */
static void build_segments(const struct building *b, struct prompt *out,
                           struct arena *a)
{
    const struct prompt_start *start = b->start;
    struct str system = out->message[0].text, user = out->message[1].text,
               own = {system.p + start->text.n, system.n - start->text.n};
    struct known_text known = {{system.p, start->text.n}, start->hash};

    segments_init(out, 3 + 4 * b->known_count, a);
    segments_add(out, 0, known, NULL);
    segments_cut(out, 0, own, b->known, b->known_count, b->p->kept);
    segments_cut(out, 1, user, b->known, b->known_count, b->p->kept);
    segments_list(out, a);
    out->tokens =
        start->tokens + llm_estimate_tokens(own) + llm_estimate_tokens(user);
}

int prompts_build(struct prompts *p, const struct prompt_input *in,
                  struct arena *a, struct prompt *out, struct err *e)
{
    static const enum prompt_file files[] = {[PROMPT_PLAN] = FILE_PLAN,
                                             [PROMPT_CODE] = FILE_CODE,
                                             [PROMPT_EVOLVE] = FILE_EVOLVE};
    const struct prompt_start *start = start_find(p, in->pack, in->no_card, e);
    struct building b = {.p = p, .in = in, .a = &p->scratch, .start = start};
    struct str v[PROMPT_SLOTS] = {0}, system, user;

    arena_reset(b.a);
    b.known =
        arena_alloc_raw(b.a, (in->example_count + OTHERS) * sizeof(*b.known));
    if (!start || build_fill(&b, v, e) < 0)
        return err_wrap(e, "prompt for %s with %s", in->task_id, in->pack->id);
    if (in->stage == PROMPT_EVOLVE)
        system = prompt_render(p, FILE_EVOLVE_SYSTEM, start->text, v, a);
    else
        system = start->text;
    user = prompt_render(p, files[in->stage], nothing, v, a);
    *out = (struct prompt){
        .message = {{"system", system, start->text.n}, {"user", user, 0}},
        .count = 2};
    build_segments(&b, out, a);
    return 0;
}
