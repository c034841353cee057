/* embed.c: turns the words of a program into a vector. Weights are fixed-point
 * integers. After that there are only sums, products, quotients and square
 * roots of doubles, which IEEE 754 defines to the last bit, so all machines
 * agree. */
#include "search/embed.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "io/co.h"
#include "search/find.h"
#include "source/py_lex.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MAX 63 /* longer names are truncated */
#define TERM_MAX 500
#define FIXED    16 /* fraction bits */

/* How often each term was seen. */
struct tally {
    struct map terms;    /* -> uint64_t */
    struct arena memory; /* the counts */
};

struct embed {
    struct tally texts_with; /* number of learned texts that contain a term */
    uint64_t texts;
};

/* The kind of a term; the letter distinguishes them in the tables. */
enum kind { WHOLE, PART, PAIR, CALL, DOTTED, KINDS };
static const char kind_letter[KINDS] = {'w', 'p', 'n', 'c', 'd'};
/* Calls say most about what a program does. */
static const int kind_weight[KINDS] = {1, 2, 1, 4, 1};

struct term {
    char text[TERM_MAX];
    size_t len;
};

/* ---- counting ---- */

static void tally_release(struct tally *t)
{
    map_release(&t->terms);
    arena_release(&t->memory);
}

static void embed_count(struct tally *t, struct str term)
{
    uint64_t *count = map_get(&t->terms, term);

    if (!count) {
        count = arena_alloc(&t->memory, sizeof(*count));
        map_set(&t->terms, term, count);
    }
    ++*count;
}

static uint64_t tally_of(const struct tally *t, struct str term)
{
    const uint64_t *count = map_get(&t->terms, term);

    return count ? *count : 0;
}

static void term_start(struct term *t, enum kind kind)
{
    t->text[0] = kind_letter[kind];
    t->len = 1;
}

/* Appends `word`, after `between`. */
static void term_add(struct term *t, char between, struct str word)
{
    size_t left = TERM_MAX - t->len;

    if (left == 0)
        return;
    t->text[t->len++] = between;
    left--;
    t->len +=
        find_fold(t->text + t->len, left < WORD_MAX ? left : WORD_MAX, word);
}

static void count_term(struct tally *to, const struct term *t)
{
    embed_count(to, (struct str){t->text, t->len});
}

static void count_word(struct tally *to, enum kind kind, struct str word)
{
    struct term t;

    term_start(&t, kind);
    term_add(&t, ' ', word);
    count_term(to, &t);
}

/* ---- from tokens to terms ---- */

/* How a byte of a name relates to its neighbours; non-ASCII letters count as
 * lower case. */
enum letter { SMALL, CAPITAL, DIGIT };
static enum letter letter_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return CAPITAL;
    return c >= '0' && c <= '9' ? DIGIT : SMALL;
}

/* The end of the part that starts at `from`: before an underscore, before a
 * capital after a lower-case letter, before a digit after a letter. */
static size_t part_end(struct str w, size_t from)
{
    size_t i = from + 1;

    for (; i < w.n && w.p[i] != '_'; i++) {
        enum letter before = letter_of(w.p[i - 1]), now = letter_of(w.p[i]);

        if ((now == CAPITAL && before == SMALL) ||
            (now == DIGIT && before != DIGIT))
            break;
    }
    return i;
}

static void embed_parts(struct tally *to, struct str w)
{
    for (size_t from = 0; from < w.n;) {
        size_t end;

        if (w.p[from] == '_') {
            from++;
            continue;
        }
        end = part_end(w, from);
        count_word(to, PART, (struct str){w.p + from, end - from});
        from = end;
    }
}

static bool joined(const struct py_tokens *t, size_t i)
{
    return py_is(&t->tok[i], ".") && t->tok[i + 1].kind == PY_NAME;
}

/* A dotted name that starts at token `i`, or a method called on a value. */
static void count_chain(struct tally *to, const struct py_tokens *t, size_t i)
{
    bool behind_value = i && py_is(&t->tok[i - 1], ".");
    size_t last = i;
    struct term dotted;

    term_start(&dotted, DOTTED);
    term_add(&dotted, ' ', t->tok[i].text);
    while (joined(t, last + 1)) {
        last += 2;
        term_add(&dotted, '.', t->tok[last].text);
    }
    if (!py_is(&t->tok[last + 1], "("))
        return;
    if (last > i || behind_value)
        count_word(to, CALL, t->tok[last].text);
    if (last > i)
        count_term(to, &dotted);
}

static void count_pair(struct tally *to, struct str a, struct str b)
{
    struct term t;

    term_start(&t, PAIR);
    term_add(&t, ' ', a);
    term_add(&t, ' ', b);
    count_term(to, &t);
}

/* Counts how often each term occurs in a text. */
static void count_text(struct tally *to, struct str python)
{
    const struct py_token *before = NULL;
    struct py_tokens t;
    struct arena a = {0};

    py_lex(&t, python, &a);
    for (size_t i = 0; i + 1 < t.len; i++) {
        const struct py_token *k = &t.tok[i];

        if (k->kind == PY_NEWLINE)
            before = NULL;
        if (k->kind != PY_NAME)
            continue;
        count_word(to, WHOLE, k->text);
        embed_parts(to, k->text);
        if (before)
            count_pair(to, before->text, k->text);
        if (i < 2 || !joined(&t, i - 1) || t.tok[i - 2].kind != PY_NAME)
            count_chain(to, &t, i);
        before = k;
    }
    arena_release(&a);
}

/* ---- weights ---- */

/* log2 of n >= 1: squaring the mantissa yields the bits of the fraction. */
static int64_t log2_fixed(uint64_t n)
{
    int64_t whole = 63 - __builtin_clzll(n);
    int64_t result = whole << FIXED;
    uint64_t x = whole > 31 ? n >> (whole - 31) : n << (31 - whole);

    for (int bit = FIXED - 1; bit >= 0; bit--) {
        x = (x * x) >> 31;
        if (x >> 32) {
            x >>= 1;
            result |= (int64_t)1 << bit;
        }
    }
    return result;
}

/* 1 + ln(occurrences in the text), times the rarity log2((N + 1) / (df + 1/2)).
 * The rarity is never quite zero, so a text of only common words has a
 * direction, too. */
static int64_t weight_of(const struct embed *m, struct str term, uint64_t times)
{
    const int64_t one = (int64_t)1 << FIXED, ln2 = 45426;
    uint64_t df = tally_of(&m->texts_with, term);
    int64_t often = one + ((log2_fixed(times) * ln2) >> FIXED);
    int64_t rare = log2_fixed(2 * m->texts + 2) - log2_fixed(2 * df + 1);

    return often * (rare > 0 ? rare : 1);
}

static int weight_of_kind(char letter)
{
    const char *at = memchr(kind_letter, letter, KINDS);

    if (!at)
        BUG("a term of kind '%c'", letter);
    return kind_weight[at - kind_letter];
}

/* ---- the interface ---- */

struct embed *embed_new(void)
{
    struct embed *m = xcalloc(1, sizeof(*m));

    return m;
}

void embed_free(struct embed *m)
{
    tally_release(&m->texts_with);
    free(m);
}

static struct str term_at(const struct tally *t, size_t i)
{
    return (struct str){t->terms.items[i].key, t->terms.items[i].key_len};
}

void embed_learn(struct embed *m, struct str python)
{
    struct tally text = {0};

    count_text(&text, python);
    for (size_t i = 0; i < text.terms.len; i++)
        embed_count(&m->texts_with, term_at(&text, i));
    m->texts++;
    tally_release(&text);
}

void embed_vector(const struct embed *m, struct str python,
                  float out[EMBED_DIM])
{
    double place[EMBED_DIM] = {0}, squares = 0, length;
    struct tally text = {0};

    count_text(&text, python);
    for (size_t i = 0; i < text.terms.len; i++) {
        struct str term = term_at(&text, i);
        uint64_t h = fnv1a(term.p, term.n);
        double w = (double)weight_of(m, term, tally_of(&text, term)) *
                   weight_of_kind(term.p[0]);

        place[h % EMBED_DIM] += h >> 63 ? -w : w;
    }
    tally_release(&text);
    for (size_t i = 0; i < EMBED_DIM; i++)
        squares += place[i] * place[i];
    length = sqrt(squares);
    for (size_t i = 0; i < EMBED_DIM; i++)
        out[i] = length > 0 ? (float)(place[i] / length) : 0;
}

/* ---- a vector for each text ---- */

#define TEXTS_A_REQUEST 64

static void built_in(const struct str *text, size_t count, struct vectors *out)
{
    struct embed *m = embed_new();

    out->dim = EMBED_DIM;
    out->v = xcalloc(count + 1, out->dim * sizeof(*out->v));
    for (size_t i = 0; i < count; i++)
        embed_learn(m, text[i]);
    for (size_t i = 0; i < count; i++)
        embed_vector(m, text[i], out->v + i * out->dim);
    out->embed = m;
}

/* ---- an endpoint ---- */

struct fetching {
    const struct vectors_parts *part;
    const struct str *text;
    size_t count;
    char (*hash)[HASH_HEX]; /* for each text */
    bool *have;
    struct vectors *out;
    struct err *e;
    /* the current request */
    size_t first, asked; /* its texts */
    struct co *co;       /* waits for its answer; NULL: it is there */
    int rc;
};

/* All vectors of a run have the same length. */
static int place(struct fetching *f, size_t i, const float *v, size_t dim)
{
    struct vectors *out = f->out;

    if (!out->v) {
        out->dim = dim;
        out->v = xcalloc(f->count, dim * sizeof(*v));
    }
    if (dim != out->dim)
        return err_set(f->e, ERR_INPUT,
                       "%s returned a vector of %zu numbers after one of %zu",
                       f->part->model, dim, out->dim);
    memcpy(out->v + i * dim, v, dim * sizeof(*v));
    f->have[i] = true;
    return 0;
}

static int on_stored(const void *row, void *arg)
{
    const struct row_vector *r = row;
    struct fetching *f = arg;

    if (strcmp(r->source, f->part->model) != 0)
        return 0;
    for (size_t i = 0; i < f->count; i++)
        if (!f->have[i] && strcmp(f->hash[i], r->hash) == 0 &&
            place(f, i, r->v, r->dim) < 0)
            return -1;
    return 0;
}

/* A text that occurs twice is stored once: an endpoint may round
 * differently. */
static bool vectors_repeat(const struct fetching *f, size_t i)
{
    size_t j = 0;

    while (j < i && strcmp(f->hash[j], f->hash[i]) != 0)
        j++;
    return j < i;
}

/* A reply has the vectors of its texts, in order. */
static int vectors_take(struct fetching *f, struct str reply)
{
    size_t dim = reply.n / sizeof(float) / f->asked;
    float *v = xmalloc(reply.n + 1);
    int rc = 0;

    memcpy(v, reply.p, reply.n);
    for (size_t k = 0; rc == 0 && k < f->asked; k++) {
        struct row_vector row = {.source = f->part->model,
                                 .hash = f->hash[f->first + k],
                                 .v = v + k * dim,
                                 .dim = dim};

        if (f->have[f->first + k])
            continue;
        rc = place(f, f->first + k, row.v, dim);
        if (rc == 0 && !vectors_repeat(f, f->first + k))
            store_vector(f->part->store, &row);
    }
    free(v);
    return rc;
}

static int vectors_take_answer(struct fetching *f,
                               const struct ledger_answer *a)
{
    switch (a->end) {
    case LEDGER_ANSWERED:
        return vectors_take(f, a->text);
    case LEDGER_FAILED:
        return err_set(f->e, ERR_SYSTEM, "the embeddings of %s: %s",
                       f->part->model, a->why);
    case LEDGER_NO_BUDGET:
        f->out->need = a->need;
        return VECTORS_NO_BUDGET;
    case LEDGER_STOPPED:
        return VECTORS_STOPPED;
    case LEDGER_BROKEN:
        *f->e = *a->err;
        return -1;
    }
    BUG("end %d", a->end);
}

/* Sends one request. The same texts and model make the same request. */
static void request_vectors(void *arg)
{
    struct fetching *f = arg;
    struct llm_message message[TEXTS_A_REQUEST];
    char asked[HASH_HEX];
    struct hash h;
    struct arena memory = {0};
    struct ledger_answer a;
    struct ledger_question q = {
        .purpose = "embed",
        .asked = asked,
        .task = -1,
        .client = f->part->client,
        .request = {.key = {"embeddings", "embed", "embed", 1},
                    .message = message,
                    .count = f->asked},
        .prompt_hash = asked};

    hash_init(&h);
    hash_add(&h, f->part->model, strlen(f->part->model) + 1);
    for (size_t k = 0; k < f->asked; k++) {
        message[k] =
            (struct llm_message){.role = "user", .text = f->text[f->first + k]};
        hash_add(&h, f->hash[f->first + k], HASH_HEX);
    }
    hash_finish_hex(&h, asked);
    f->rc = ledger_ask(f->part->ledger, &q, &memory, &a) < 0
                ? VECTORS_STOPPED
                : vectors_take_answer(f, &a);
    arena_release(&memory);
    f->co = NULL;
    loop_stop(f->part->loop);
}

static int vectors_ask(struct fetching *f)
{
    f->co = co_start(request_vectors, f);
    while (f->co && !(f->part->hurry && *f->part->hurry))
        loop_run(f->part->loop); /* others may stop the loop, too */
    if (f->co)
        co_cancel(f->co);
    return f->rc;
}

static bool have_all(const struct fetching *f)
{
    size_t k = 0;

    while (k < f->asked && f->have[f->first + k])
        k++;
    return k == f->asked;
}

/* A request always has the same texts, whether or not the store has some of
 * them. So it finds a reply that was paid for earlier. */
static int fetch(struct fetching *f)
{
    int rc = 0;

    for (; rc == 0 && f->first < f->count; f->first += TEXTS_A_REQUEST) {
        f->asked = f->count - f->first < TEXTS_A_REQUEST ? f->count - f->first
                                                         : TEXTS_A_REQUEST;
        if (!have_all(f))
            rc = vectors_ask(f);
    }
    return rc;
}

static int from_endpoint(const struct vectors_parts *p, const struct str *text,
                         size_t count, struct vectors *out, struct err *e)
{
    struct fetching f = {
        .part = p, .text = text, .count = count, .out = out, .e = e};
    int rc = -1;

    f.have = xcalloc(count + 1, sizeof(*f.have));
    f.hash = xcalloc(count + 1, sizeof(*f.hash));
    for (size_t i = 0; i < count; i++)
        hash_hex(text[i].p, text[i].n, f.hash[i]);
    if (store_each(p->store, STORE_VECTORS, on_stored, &f, e) == 0)
        rc = fetch(&f);
    free(f.have);
    free(f.hash);
    return rc == 0 ? store_sync(p->store, e) : rc;
}

int vectors_make(const struct vectors_parts *p, const struct str *text,
                 size_t count, struct vectors *out, struct err *e)
{
    *out = (struct vectors){0};
    if (p->client)
        return from_endpoint(p, text, count, out, e);
    built_in(text, count, out);
    return VECTORS_DONE;
}
