/* cmd_guide.c: monkeys guide build: a guide for a pack, read out of the
 * language's documents by a model. */
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "io/term.h"
#include "pack/pack.h"
#include "prompt/guide.h"
#include "prompt/inquiry.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct guide_values {
    struct modeling_values m;
    struct opt_list packs;
    const char *dsl, *sources, *out;
    int64_t words, depth, window, calls;
    bool json;
};

#define VALUES struct guide_values
static const struct opt guide_table[] = {
    {"dsl", 0, OPT_TEXT, "ID", "the pack (required)", AT(dsl)},
    {"sources", 0, OPT_TEXT, "DIR",
     "the language's documents: text files, also in folders below (required)",
     AT(sources)},
    {"out", 'o', OPT_TEXT, "DIR",
     "where the guide and the calls are kept (default: guide-ID)", AT(out)},
    {"words", 0, OPT_INT, "N", "length of the guide (default: 2500)",
     WITHIN(words, 100, 20000)},
    {"depth", 0, OPT_INT, "N", "levels of readers below the first (default: 7)",
     WITHIN(depth, 0, 20)},
    {"window", 0, OPT_INT, "TOKENS",
     "largest prompt of the first reader; each level has half of it "
     "(default: 60000)",
     WITHIN(window, 4000, 10000000)},
    {"calls", 0, OPT_INT, "N", "maximum number of calls (default: 400)",
     WITHIN(calls, 1, 1000000)},
    {"packs", 0, OPT_LIST, "DIR", PACKS_HELP, AT(packs)},
    {"json", 0, OPT_FLAG, NULL, "print the result as a JSON object", AT(json)},
    MODELING_OPTIONS,
    {0},
};

/* What is open while it works. */
struct guiding {
    const struct guide_values *v;
    const struct pack *pack;
    struct sources sources;
    struct inquiry asked;
    char *out, *file;
    struct guide *guide;
};

static int guide_open(struct cmd_call *call, struct guiding *w, struct err *e)
{
    const struct guide_values *v = w->v;
    struct inquiry_opts o = {.values = &v->m, .file = "guide.db"};

    w->out = v->out ? xstrdup(v->out) : xasprintf("guide-%s", v->dsl);
    w->file = fs_join(w->out, "guide.md");
    w->pack = cmd_pack(call, &v->packs, v->dsl, e);
    if (!w->pack || sources_read(&w->sources, v->sources, e) < 0)
        return -1;
    o.home = cmd_home(call, e)->dir;
    o.dir = w->out;
    return inquiry_open(&w->asked, &o, e);
}

static int guide_close(struct guiding *w, struct err *e)
{
    int rc;

    if (w->guide)
        guide_free(w->guide);
    rc = inquiry_close(&w->asked, e);
    sources_release(&w->sources);
    free(w->out);
    free(w->file);
    return rc;
}

static void guide_step(const struct ask_progress *p, void *arg)
{
    struct guiding *w = arg;
    char note[80];

    snprintf(note, sizeof(note), "%zu readers, %zu at work, ", p->started,
             p->open);
    inquiry_step(&w->asked, p->questions, note);
}

/* ---- the end ---- */

static int guide_write(struct guiding *w, struct err *e)
{
    struct str text = guide_text(w->guide);
    struct buf b = BUF_INIT;
    int rc;

    buf_put(&b, text.p, text.n);
    buf_putc(&b, '\n');
    rc = fs_replace(w->file, buf_str(&b), b.len, e);
    buf_release(&b);
    return rc;
}

static void guide_print(const struct guiding *w)
{
    struct str findings = guide_findings(w->guide);
    const struct budget *b = &w->asked.model.budget;

    if (w->v->json) {
        jsn_line(json_pack("{s:s, s:s, s:i, s:I, s:I, s:o}", "dsl", w->v->dsl,
                           "file", w->file, "documents", (int)w->sources.len,
                           "usd_micro", (json_int_t)b->spent.usd_micro,
                           "tokens", (json_int_t)b->spent.tokens, "findings",
                           jsn_text(findings.p, findings.n)));
        return;
    }
    printf("%s: made from %zu documents with %lld tokens\n", w->file,
           w->sources.len, (long long)b->spent.tokens);
    if (findings.n)
        printf("Look at these before you use it:\n%.*s", (int)findings.n,
               findings.p);
}

static int guide_build(struct guiding *w, struct err *e)
{
    const struct guide_values *v = w->v;
    struct guide_parts parts = {.ask = inquiry_parts(&w->asked),
                                .prompts = w->asked.prompts,
                                .sources = &w->sources};
    struct guide_opts opts = {.dsl = v->dsl,
                              .name = w->pack->prompt_name,
                              .words = v->words,
                              .depth = v->depth,
                              .window = v->window,
                              .calls = v->calls};
    enum ask_end end;

    parts.ask.step = guide_step;
    parts.ask.arg = w;
    w->guide = guide_new(&parts, &opts);
    w->asked.term =
        term_open(STDERR_FILENO, (uint64_t)v->calls, 0, "reading, calls");
    end = guide_run(w->guide, e);
    term_close(w->asked.term);
    w->asked.term = NULL;
    if (inquiry_ended(end, w->out, "what was read", e) < 0 ||
        guide_write(w, e) < 0)
        return -1;
    guide_print(w);
    return guide_findings(w->guide).n ? 1 : 0;
}

static int guide_run_command(struct cmd_call *call, struct err *e)
{
    const struct guide_values *v = call->values;
    struct guiding w = {.v = v};
    struct err late = ERR_INIT;
    int rc;

    if (call->r.rest_len)
        return err_set(e, ERR_USAGE, "'%s' is not an option", call->r.rest[0]);
    if (!v->dsl || !v->sources)
        return err_set(e, ERR_USAGE, "--%s is missing",
                       v->dsl ? "sources" : "dsl");
    rc = guide_open(call, &w, e) < 0 ? -1 : guide_build(&w, e);
    return err_late(e, rc, guide_close(&w, &late), &late);
}

static const struct guide_values guide_defaults = {.m = MODELING_DEFAULTS,
                                                   .words = 2500,
                                                   .depth = 7,
                                                   .window = 60000,
                                                   .calls = 400};

const struct cmd cmd_guide_build = {
    .name = "guide build",
    .args = "",
    .summary = "write a pack's guide from the language's documents",
    .text =
        "A model reads the documents, however long they are: it sees a list "
        "of\n"
        "them, looks into them, and hands long parts to further readers "
        "with\n"
        "smaller windows, level by level. It then writes a guide in the "
        "layout\n"
        "of a pack's guide.md. Names in the guide that occur in no document "
        "are\n"
        "reported, and the model may correct them twice. Every reply is "
        "stored\n"
        "in the folder before it is used: after a stop or a kill, run the "
        "same\n"
        "command again to continue without paying for anything twice. Exit\n"
        "status: 0 done, 1 done with findings, 3 the budget is used up, 130\n"
        "stopped.",
    .table = guide_table,
    .run = guide_run_command,
    .size = sizeof(struct guide_values),
    .defaults = &guide_defaults,
};
