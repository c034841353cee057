/* builder.c: readers and their turns. */
#include "guide/builder.h"

#include "base/mem.h"
#include "guide/action.h"
#include "guide/layout.h"
#include "guide/looking.h"
#include "prompt/ask.h"

#include <stdlib.h>
#include <string.h>

#define TURNS        24   /* of one reader */
#define REPAIRS      2    /* of a guide with findings */
#define LEAST_WINDOW 2000 /* tokens */

/* One action of a turn and what came of it. */
struct step {
    struct buf text; /* as the next prompts show it */
    bool open;       /* a reader below has not answered yet */
};

struct turn {
    struct step step[ACTIONS];
    size_t len;
};

struct reader {
    struct guide *g;
    struct reader *above; /* NULL: the first */
    struct step *answer;  /* where its answer goes; of `above` */
    char *path;       /* "1.3.2": the second below the third below the first */
    struct span span; /* of `above` readers: what it may read */
    char *question;
    int64_t window, depth;
    struct turn turn[TURNS];
    size_t turns, open, children;
    bool last;           /* its last turn: it must answer */
    struct arena memory; /* of its prompt */
    struct prompt prompt;
    char asked[HASH_HEX];
    struct ledger_call *call;
    struct reader *prev, *next;
};

struct guide {
    struct guide_parts part;
    struct guide_opts opt;
    struct reader *readers;
    struct guide_progress progress;
    int repairs;
    enum guide_end end;
    bool finished;
    struct err err;
    struct buf text, findings;
    void (*step)(const struct guide_progress *p, void *arg);
    void *arg;
};

static void take_turn(struct reader *r);

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
                         .depth = g->opt.depth,
                         .next = g->readers};
    arena_init(&r->memory);
    if (above) {
        r->window = above->window / 2;
        r->depth = above->depth - 1;
        r->path = xasprintf("%s.%zu", above->path, ++above->children);
    } else {
        r->path = xstrdup("1");
    }
    if (g->readers)
        g->readers->prev = r;
    g->readers = r;
    g->progress.readers++;
    g->progress.open++;
    return r;
}

static void reader_free(struct reader *r)
{
    struct guide *g = r->g;

    *(r->prev ? &r->prev->next : &g->readers) = r->next;
    if (r->next)
        r->next->prev = r->prev;
    if (r->call)
        ledger_drop(r->call);
    for (size_t i = 0; i < r->turns; i++)
        for (size_t j = 0; j < r->turn[i].len; j++)
            buf_release(&r->turn[i].step[j].text);
    arena_release(&r->memory);
    free(r->question);
    free(r->path);
    free(r);
    g->progress.open--;
}

static void finish(struct guide *g, enum guide_end end)
{
    if (g->finished)
        return;
    g->finished = true;
    g->end = end;
    loop_stop(g->part.loop);
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

static void next_turn(struct reader *r)
{
    if (r->open == 0 && !r->g->finished)
        take_turn(r);
}

/* The reader is done: whoever asked goes on. */
static void answer(struct reader *r, const char *text)
{
    struct reader *above = r->above;
    struct step *step = r->answer;

    buf_printf(&step->text, "Answer: %s\n", text);
    step->open = false;
    reader_free(r);
    above->open--;
    next_turn(above);
}

static struct step *add_step(struct reader *r)
{
    struct turn *t = &r->turn[r->turns - 1];
    struct step *x = &t->step[t->len++];

    buf_init(&x->text, BUF_UNLIMITED);
    return x;
}

static void ask_below(struct reader *r, const struct action *a,
                      struct span span)
{
    struct step *x = add_step(r);
    struct guide *g = r->g;
    struct reader *below;

    buf_printf(&x->text, "Question about %s, lines %zu to %zu: %s\n",
               a->document, span.from, span.to, a->text);
    if (r->depth <= 0 || r->window / 2 < LEAST_WINDOW) {
        buf_puts(&x->text, "No reader is left for it: peek instead.\n");
        return;
    }
    /* every open reader can still answer with a call of its own */
    if (g->progress.calls + g->progress.open + 1 > (size_t)g->opt.calls) {
        buf_puts(&x->text, "No calls are left for it: answer with what you "
                           "have.\n");
        return;
    }
    below = reader_new(g, r, x, span, a->text);
    x->open = true;
    r->open++;
    take_turn(below);
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

static void add_note(struct reader *r, const char *text)
{
    r->turns++;
    buf_puts(&add_step(r)->text, text);
    next_turn(r);
}

/* The first reader's answer is the guide; with findings it is told them, and
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
        finish(g, GUIDE_DONE);
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

static void no_answer(struct reader *r, const char *why)
{
    if (r->above) {
        answer(r, why);
        return;
    }
    err_set(&r->g->err, ERR_INPUT, "the model did not finish its guide: %s",
            why);
    finish(r->g, GUIDE_FAILED);
}

static void take_reply(struct reader *r, struct str reply)
{
    struct actions list;
    struct err e = ERR_INIT;
    int rc = actions_read(reply, &list, &e);

    if (rc == 0 && list.item[0].kind == ACTION_FINAL) {
        if (r->above)
            answer(r, list.item[0].text);
        else
            take_guide(r, list.item[0].text);
    } else if (r->last) {
        no_answer(r, "(it gave no answer)");
    } else if (rc < 0) {
        char *note = xasprintf("Your reply cannot be used: %s.\n", e.text);

        add_note(r, note);
        free(note);
    } else {
        r->turns++;
        r->open++; /* nobody goes on before all have begun */
        for (size_t i = 0; i < list.len; i++)
            do_action(r, &list.item[i]);
        r->open--;
        next_turn(r);
    }
    actions_release(&list);
}

static void on_answer(void *arg, const struct ledger_answer *a)
{
    struct reader *r = arg;
    struct guide *g = r->g;

    r->call = NULL;
    if (g->finished)
        return;
    if (g->step)
        g->step(&g->progress, g->arg);
    if (a->end == LEDGER_ANSWERED && a->cut && !r->last)
        add_note(r, "Your reply was cut at the token limit: be shorter.\n");
    else if (a->end == LEDGER_ANSWERED)
        take_reply(r, a->text);
    else if (a->end == LEDGER_FAILED)
        no_answer(r, a->why);
    else if (a->end == LEDGER_NO_BUDGET)
        finish(g, GUIDE_NO_BUDGET);
    else if (a->end == LEDGER_STOPPED)
        finish(g, GUIDE_STOPPED);
    else {
        g->err = *a->err;
        finish(g, GUIDE_FAILED);
    }
}

static void take_turn(struct reader *r)
{
    struct guide *g = r->g;
    struct ledger_question q = {.purpose = "guide", .task = -1};
    struct ledger_call *call;

    r->last = r->turns + 1 >= TURNS ||
              g->progress.calls + g->progress.open >= (size_t)g->opt.calls;
    build_prompt(r);
    g->progress.calls++;
    ledger_hash(r->asked, "%s/%zu/%s", r->path, r->turns, r->prompt.hash);
    q.asked = r->asked;
    q.front = g->part.front;
    q.prompt_hash = r->prompt.hash;
    q.request = (struct llm_request){
        .key = {g->opt.dsl, "guide", r->path, (int)r->turns + 1},
        .message = r->prompt.message,
        .count = r->prompt.count,
        .max_tokens = g->opt.max_tokens};
    call = ledger_ask(g->part.ledger, &q, on_answer, r);
    if (call)
        r->call = call; /* else `r` may be gone */
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
    for (struct reader *r = g->readers, *next; r; r = next) {
        next = r->next;
        reader_free(r);
    }
    buf_release(&g->text);
    buf_release(&g->findings);
    free(g);
}

enum guide_end guide_run(struct guide *g,
                         void (*step)(const struct guide_progress *p,
                                      void *arg),
                         void *arg, struct err *e)
{
    g->step = step;
    g->arg = arg;
    take_turn(reader_new(g, NULL, NULL, (struct span){0}, NULL));
    while (!g->finished)
        loop_run(g->part.loop);
    if (g->end == GUIDE_FAILED)
        *e = g->err;
    return g->end;
}

void guide_stop(struct guide *g)
{
    ledger_stop(g->part.ledger);
}

struct str guide_text(const struct guide *g)
{
    return (struct str){buf_str(&g->text), g->text.len};
}

struct str guide_findings(const struct guide *g)
{
    return (struct str){buf_str(&g->findings), g->findings.len};
}
