/* cmd_guide.c: monkeys guide build: a guide for a pack, read out of the
 * language's documents by a model. */
#include "base/fs.h"
#include "base/home.h"
#include "base/json.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/paying.h"
#include "io/term.h"
#include "pack/packs.h"
#include "prompt/builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct guide_values {
    struct modeling_values m;
    struct opt_list packs;
    const char *dsl, *sources, *out;
    int64_t words, depth, window, calls;
    bool json;
};

#define FIELD(name) offsetof(struct guide_values, name), 0, 0
static const struct opt guide_table[] = {
    {"dsl", 0, OPT_TEXT, "ID", "the pack (required)", FIELD(dsl)},
    {"sources", 0, OPT_TEXT, "DIR",
     "the language's documents: text files, also in folders below (required)",
     FIELD(sources)},
    {"out", 'o', OPT_TEXT, "DIR",
     "where the guide and the calls are kept (default: guide-ID)", FIELD(out)},
    {"words", 0, OPT_INT, "N", "length of the guide (default: 2500)",
     offsetof(struct guide_values, words), 100, 20000},
    {"depth", 0, OPT_INT, "N", "levels of readers below the first (default: 7)",
     offsetof(struct guide_values, depth), 0, 20},
    {"window", 0, OPT_INT, "TOKENS",
     "prompt of the first reader at most; each level has half of it (default: "
     "60000)",
     offsetof(struct guide_values, window), 4000, 10000000},
    {"calls", 0, OPT_INT, "N", "calls at most (default: 400)",
     offsetof(struct guide_values, calls), 1, 1000000},
    {"packs", 0, OPT_LIST, "DIR", PACKS_HELP, FIELD(packs)},
    {"json", 0, OPT_FLAG, NULL, "print the result as a JSON object",
     FIELD(json)},
    MODELING_OPTIONS,
    {0},
};

/* What is open while it works. */
struct work {
    const struct guide_values *v;
    struct home home;
    struct packs_path path;
    struct pack *pack;
    struct sources sources;
    struct loop *loop;
    struct paying asked;
    char *out, *file;
    struct guide *guide;
    struct term *term;
};

static int open_all(struct work *w, struct err *e)
{
    const struct guide_values *v = w->v;
    struct paying_opts o = {.values = &v->m, .file = "guide.db"};

    w->out = v->out ? xstrdup(v->out) : xasprintf("guide-%s", v->dsl);
    w->file = fs_join(w->out, "guide.md");
    if (home_find(&w->home, e) < 0)
        return -1;
    packs_path_init(&w->path, &v->packs, &w->home);
    w->pack = packs_load(&w->path, v->dsl, e);
    if (!w->pack || sources_read(&w->sources, v->sources, e) < 0)
        return -1;
    o.home = w->home.dir;
    o.dir = w->out;
    o.loop = w->loop = loop_new(e);
    return w->loop ? paying_open(&w->asked, &o, e) : -1;
}

static int close_all(struct work *w, struct err *e)
{
    int rc;

    if (w->term)
        term_close(w->term);
    if (w->guide)
        guide_free(w->guide);
    rc = paying_close(&w->asked, e);
    if (w->loop)
        loop_free(w->loop);
    sources_release(&w->sources);
    if (w->pack)
        pack_free(w->pack);
    packs_path_release(&w->path);
    home_release(&w->home);
    free(w->out);
    free(w->file);
    return rc;
}

/* ---- while it works ---- */

static void guide_step(const struct ask_progress *p, void *arg)
{
    struct work *w = arg;
    char note[120];

    modeling_news(&w->asked.model);
    snprintf(note, sizeof(note), "%zu readers, %zu at work, $%.4f", p->started,
             p->open, (double)w->asked.model.budget.spent.usd_micro / 1e6);
    term_set(w->term, p->questions, note);
}

/* ---- the end ---- */

static int write_guide(struct work *w, struct err *e)
{
    struct str text = guide_text(w->guide);
    struct buf b;
    int rc;

    buf_init(&b, BUF_UNLIMITED);
    buf_put(&b, text.p, text.n);
    buf_putc(&b, '\n');
    rc = fs_replace(w->file, buf_str(&b), b.len, e);
    buf_release(&b);
    return rc;
}

static void print_result(const struct work *w)
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

static int build(struct work *w, struct err *e)
{
    const struct guide_values *v = w->v;
    struct guide_parts parts = {.ask = paying_parts(&w->asked, w->loop, &v->m),
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
    w->term = term_open(STDERR_FILENO, (uint64_t)v->calls, 0, "reading, calls");
    end = guide_run(w->guide, e);
    term_close(w->term);
    w->term = NULL;
    if (paying_ended(end, w->out, "what was read", e) < 0 ||
        write_guide(w, e) < 0)
        return -1;
    print_result(w);
    return guide_findings(w->guide).n ? 1 : 0;
}

static int guide_run_command(const struct cmd *c, int argc, char **argv,
                             struct err *e)
{
    struct guide_values v = {.m = MODELING_DEFAULTS,
                             .words = 2500,
                             .depth = 7,
                             .window = 60000,
                             .calls = 400};
    struct cmd_call call = {.cmd = c, .values = &v};
    struct work w = {.v = &v};
    struct err late = ERR_INIT;
    int rc = cmd_begin(&call, argc, argv, sizeof(v), e);

    if (rc == 0 && call.r.rest_len)
        rc = err_set(e, ERR_USAGE, "'%s' is not an option", call.r.rest[0]);
    else if (rc == 0 && (!v.dsl || !v.sources))
        rc =
            err_set(e, ERR_USAGE, "--%s is missing", v.dsl ? "sources" : "dsl");
    else if (rc == 0)
        rc = open_all(&w, e) < 0 ? -1 : build(&w, e);
    else if (rc == 1)
        rc = 0;
    if (close_all(&w, &late) < 0 && rc >= 0) {
        *e = late;
        rc = -1;
    }
    cmd_end(&call);
    return rc;
}

const struct cmd cmd_guide_build = {
    .name = "guide build",
    .args = "",
    .summary = "write a pack's guide from the language's documents",
    .text =
        "A model reads the documents, however long they are: it sees a list\n"
        "of them, looks into them, and hands long parts to further readers\n"
        "with smaller windows, level by level. It then writes a guide in the\n"
        "layout of a pack's guide.md. Names in the guide that occur in no\n"
        "document are reported, and the model may mend them twice. Every "
        "reply\n"
        "is stored in the folder before it is used: a command that was "
        "stopped\n"
        "or killed continues where it was when it is run again, and pays for\n"
        "nothing twice. Exit status: 0 done, 1 done with findings, 3 the "
        "budget\n"
        "is used up, 130 stopped.",
    .table = guide_table,
    .run = guide_run_command,
};
