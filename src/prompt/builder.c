/* builder.c: readers and their turns. */
#include "prompt/builder.h"

#include "base/mem.h"
#include "prompt/action.h"
#include "prompt/ask.h"
#include "prompt/layout.h"
#include "prompt/looking.h"

#include <stdlib.h>
#include <string.h>

#define TURNS        24   /* of one reader */
#define REPAIRS      2    /* of a guide with findings */
#define LEAST_WINDOW 2000 /* tokens */

/* One action of a turn and what came of it, as the next prompts show it. */
struct step {
    struct buf text;
};

struct turn {
    struct step step[ACTIONS];
    size_t len;
};

struct reader {
    struct guide *g;
    struct reader *above; /* NULL: the first */
    struct step *answer;  /* of `above`: where its answer goes */
    char *path;       /* "1.3.2": the second below the third below the first */
    struct span span; /* of `above` readers: what it may read */
    char *question;
    int64_t window, depth;
    struct turn turn[TURNS];
    size_t turns, children;
    struct ask_group below; /* those that it has asked in this turn */
    bool last;              /* its last turn: it must answer */
    char *said;             /* its answer */
    char *silent;           /* why there is none */
    struct arena memory;    /* of its prompt */
    struct prompt prompt;
};

struct guide {
    struct guide_parts part;
    struct guide_opts opt;
    struct ask_all ask;
    int repairs;
    struct buf text, findings;
};

/* ---- readers ---- */

static struct reader *reader_new(struct guide *g, struct reader *above,
                                 struct step *answer, struct span span,
                                 const char *question)
{
    struct reader *r = xcalloc(1, sizeof(*r));

    *r = (struct reader){.g = g,
                         .above = above,
                         .answer = answer,
                         .span = span,
                         .question = question ? xstrdup(question) : NULL,
                         .window = g->opt.window,
                         .depth = g->opt.depth};
    arena_init(&r->memory);
    if (above) {
        r->window = above->window / 2;
        r->depth = above->depth - 1;
        r->path = xasprintf("%s.%zu", above->path, ++above->children);
    } else {
        r->path = xstrdup("1");
    }
    return r;
}

static void reader_free(struct reader *r)
{
    for (size_t i = 0; i < r->turns; i++)
        for (size_t j = 0; j < r->turn[i].len; j++)
            buf_release(&r->turn[i].step[j].text);
    arena_release(&r->memory);
    free(r->question);
    free(r->path);
    free(r->said);
    free(r->silent);
    free(r);
}

/* Every open reader can still answer with a call of its own. */
static size_t calls_taken(const struct guide *g)
{
    return g->ask.progress.questions + g->ask.progress.open;
}

/* ---- a prompt that fits ---- */

static struct str first_line(struct str s)
{
    struct str head;

    return str_cut(&s, '\n', &head) ? head : s;
}

/* What the turns so far gave, the latest whole, those before only as long as
 * there is room. */
static struct str history(struct reader *r, int64_t tokens)
{
    struct str *piece =
        arena_alloc(&r->memory, (r->turns * ACTIONS + 1) * sizeof(*piece));
    size_t n = 0;
    struct buf b;
    struct str out;

    for (size_t i = r->turns; i-- > 0;)
        for (size_t j = r->turn[i].len; j-- > 0;) {
            const struct buf *t = &r->turn[i].step[j].text;
            struct str whole = {buf_str(t), t->len};

            if (llm_estimate_tokens(whole) > tokens)
                whole = first_line(whole);
            tokens -= llm_estimate_tokens(whole) + 1;
            if (tokens < 0)
                break;
            piece[n++] = whole;
        }
    buf_init(&b, BUF_UNLIMITED);
    while (n-- > 0)
        buf_printf(&b, "%.*s\n", (int)piece[n].n, piece[n].p);
    out = (struct str){arena_strndup(&r->memory, buf_str(&b), b.len), b.len};
    buf_release(&b);
    return out;
}

/* The documents, or the span itself where it takes half the window at most. */
static struct str contents(struct reader *r, bool *whole)
{
    const struct sources *s = r->g->part.sources;
    struct buf b;
    struct str out;

    *whole = r->above &&
             llm_estimate_tokens(sources_text(s, r->span)) <= r->window / 2;
    if (*whole)
        return sources_text(s, r->span);
    buf_init(&b, BUF_UNLIMITED);
    sources_manifest(s, r->above ? &r->span : NULL, r->window / 4, &b);
    out = (struct str){arena_strndup(&r->memory, buf_str(&b), b.len), b.len};
    buf_release(&b);
    return out;
}

static void build_prompt(struct reader *r)
{
    const struct guide *g = r->g;
    struct prompt_guide in = {.dsl = g->opt.name,
                              .words = g->opt.words,
                              .question = r->question,
                              .may_ask =
                                  r->depth > 0 && r->window / 2 >= LEAST_WINDOW,
                              .last = r->last};
    int64_t room;

    arena_reset(&r->memory);
    in.contents = contents(r, &in.whole);
    prompts_guide(g->part.prompts, &in, &r->memory, &r->prompt);
    room = r->window - r->prompt.tokens;
    in.history = history(r, room > 0 ? room * 9 / 10 : 0);
    prompts_guide(g->part.prompts, &in, &r->memory, &r->prompt);
}

/* ---- turns ---- */

static struct step *add_step(struct reader *r)
{
    struct turn *t = &r->turn[r->turns - 1];
    struct step *x = &t->step[t->len++];

    buf_init(&x->text, BUF_UNLIMITED);
    return x;
}

static void add_note(struct reader *r, const char *text)
{
    r->turns++;
    buf_puts(&add_step(r)->text, text);
}

static ask_fn read_below;

/* Its answer will follow in the same step. */
static void ask_below(struct reader *r, const struct action *a,
                      struct span span)
{
    struct step *x = add_step(r);
    struct guide *g = r->g;

    buf_printf(&x->text, "Question about %s, lines %zu to %zu: %s\n",
               a->document, span.from, span.to, a->text);
    if (r->depth <= 0 || r->window / 2 < LEAST_WINDOW)
        buf_puts(&x->text, "No reader is left for it: peek instead.\n");
    else if (calls_taken(g) + 1 > (size_t)g->opt.calls)
        buf_puts(&x->text, "No calls are left for it: answer with what you "
                           "have.\n");
    else
        ask_all_start(&g->ask, &r->below, read_below,
                      reader_new(g, r, x, span, a->text));
}

static void do_action(struct reader *r, const struct action *a)
{
    struct span span;
    struct looking at = {.sources = r->g->part.sources,
                         .only = r->above ? &r->span : NULL,
                         .tokens = r->window / 4};

    if (a->kind == ACTION_ASK && looking_span(&at, a, &span)) {
        ask_below(r, a, span);
        return;
    }
    looking_do(&at, a, &add_step(r)->text);
}

/* The first reader's answer is the guide; with findings it is shown them, and
 * may try again. */
static void take_guide(struct reader *r, const char *text)
{
    struct guide *g = r->g;
    struct buf note;

    buf_reset(&g->text);
    buf_reset(&g->findings);
    buf_puts(&g->text, text);
    if (layout_check(str_of(text), g->part.sources, g->opt.words,
                     &g->findings) == 0 ||
        g->repairs == REPAIRS || r->last) {
        r->said = xstrdup(text);
        return;
    }
    g->repairs++;
    buf_init(&note, BUF_UNLIMITED);
    buf_printf(&note,
               "Your guide has findings. Send the whole guide again, mended. A "
               "name that occurs in no document is most likely made up.\n%s\n"
               "Your guide was:\n%s\n",
               buf_str(&g->findings), text);
    add_note(r, buf_str(&note));
    buf_release(&note);
}

/* Does what a reply says. -1: the work ends for all. */
static int take_reply(struct reader *r, struct str reply)
{
    struct actions list;
    struct err e = ERR_INIT;
    int rc = actions_read(reply, &list, &e), end = 0;

    if (rc == 0 && list.item[0].kind == ACTION_FINAL) {
        if (r->above)
            r->said = xstrdup(list.item[0].text);
        else
            take_guide(r, list.item[0].text);
    } else if (r->last) {
        r->silent = xstrdup("(it gave no answer)");
    } else if (rc < 0) {
        char *note = xasprintf("Your reply cannot be used: %s.\n", e.text);

        add_note(r, note);
        free(note);
    } else {
        r->turns++;
        for (size_t i = 0; i < list.len; i++)
            do_action(r, &list.item[i]);
        end = ask_all_wait(&r->below);
    }
    actions_release(&list);
    return end;
}

static int reader_ask(struct reader *r, struct ledger_answer *out)
{
    struct guide *g = r->g;
    char asked[HASH_HEX];
    struct ledger_question q = {.purpose = "guide", .asked = asked};

    r->last = r->turns + 1 >= TURNS || calls_taken(g) >= (size_t)g->opt.calls;
    build_prompt(r);
    ledger_hash(asked, "%s/%zu/%s", r->path, r->turns, r->prompt.hash);
    q.prompt_hash = r->prompt.hash;
    q.request = (struct llm_request){
        .key = {g->opt.dsl, "guide", r->path, (int)r->turns + 1},
        .message = r->prompt.message,
        .count = r->prompt.count};
    return ask_all_question(&g->ask, &q, &r->memory, out);
}

/* Turn by turn, until it has answered. -1: the work ends for all. */
static int reader_run(struct reader *r)
{
    struct ledger_answer a;

    while (!r->said && !r->silent) {
        if (reader_ask(r, &a) < 0)
            return -1;
        if (a.end == LEDGER_FAILED)
            r->silent = xstrdup(a.why);
        else if (a.cut && !r->last)
            add_note(r, "Your reply was cut at the token limit: be shorter.\n");
        else if (take_reply(r, a.text) < 0)
            return -1;
    }
    return 0;
}

static int read_below(struct ask_all *a, size_t item, void *arg, struct err *e)
{
    struct reader *r = arg;
    int rc = reader_run(r);

    (void)a, (void)item, (void)e;
    if (rc == 0)
        buf_printf(&r->answer->text, "Answer: %s\n",
                   r->said ? r->said : r->silent);
    reader_free(r);
    return rc;
}

static int read_documents(struct ask_all *a, size_t item, void *arg,
                          struct err *e)
{
    struct reader *r = reader_new(arg, NULL, NULL, (struct span){0}, NULL);
    int rc = reader_run(r);

    (void)a, (void)item;
    if (r->silent)
        rc = err_set(e, ERR_INPUT, "the model did not finish its guide: %s",
                     r->silent);
    reader_free(r);
    return rc;
}

/* ---- the whole ---- */

struct guide *guide_new(const struct guide_parts *p, const struct guide_opts *o)
{
    struct guide *g = xcalloc(1, sizeof(*g));

    g->part = *p;
    g->opt = *o;
    buf_init(&g->text, BUF_UNLIMITED);
    buf_init(&g->findings, BUF_UNLIMITED);
    return g;
}

void guide_free(struct guide *g)
{
    buf_release(&g->text);
    buf_release(&g->findings);
    free(g);
}

enum ask_end guide_run(struct guide *g, struct err *e)
{
    g->ask = (struct ask_all){.part = g->part.ask};
    return ask_all(&g->ask, 1, read_documents, g, e);
}

struct str guide_text(const struct guide *g)
{
    return (struct str){buf_str(&g->text), g->text.len};
}

struct str guide_findings(const struct guide *g)
{
    return (struct str){buf_str(&g->findings), g->findings.len};
}
