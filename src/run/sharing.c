/* sharing.c: what a run takes from a shared archive, and what it gives.
 *
 * What a run has seen of the archive decides what it does next, so it is part of what
 * must be repeatable: each look is stored with the version that it found, and a run that
 * is continued gets the same kernels at the same barriers. A kernel is given only when
 * its rows are on the disk of the run: otherwise others could build on a kernel that the
 * run itself does not know of after a crash. */
#include "run/parts.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/tick.h"
#include "run/query.h"
#include "run/shared.h"
#include "search/archive.h"
#include "search/embed.h"
#include "store/pg.h"

#include <stdlib.h>
#include <string.h>

#define FINISH_NS (10 * TICK_S)

/* A kernel that waits until it is durable here. */
struct own {
    struct run_share *share;
    int64_t ord, attempt;
    char plan[HASH_HEX], code[HASH_HEX], record[HASH_HEX];
};

struct run_share {
    struct run *r;
    struct search_shared search;
    struct sharing *sharing;
    size_t owns; /* that wait */
};

/* ---- the option ---- */

/* run.ini and messages have the address without its password. */
int run_share_find(struct run *r, struct err *e)
{
    struct opt_list *list = &r->set->archive;

    for (size_t i = 0; i < list->len; i++) {
        char *shown;

        if (!pg_is_address(list->item[i]))
            continue;
        if (r->shared_address)
            return err_set(e, ERR_USAGE,
                           "--archive: a run has at most one shared archive");
        if (pg_can_open(list->item[i], e) < 0)
            return err_wrap(e, "--archive");
        r->shared_address = arena_strdup(&r->memory, list->item[i]);
        shown = pg_shown(list->item[i]);
        list->item[i] = arena_strdup(&r->memory, shown);
        free(shown);
    }
    return 0;
}

/* ---- what the run begins with ---- */

int run_share_recall(struct run *r, struct err *e)
{
    struct store_list l = {0};
    const struct row_look *look;
    struct arena memory = {0};
    int rc;

    rc = store_list(r->store, STORE_LOOKS, STORE_ALL, &l, &memory, e);
    look = l.row;
    r->shared_known = l.len > 0;
    if (l.len) {
        r->shared_first = look[0].shared_version;
        r->shared_last = look[l.len - 1].shared_version;
    }
    free(l.row);
    arena_release(&memory);
    return rc;
}

static bool has_task(const struct run *r, const char *hash)
{
    for (size_t i = 0; i < r->kernel_len; i++)
        if (strcmp(r->kernel[i].task->hash, hash) == 0)
            return true;
    return false;
}

static int take_first(struct kernel *k, int64_t number, const struct err *why,
                      void *arg, struct err *e)
{
    struct run *r = arg;

    (void)e;
    if (!k) {
        log_warn("kernel %lld of the shared archive is left out: %s",
                 (long long)number, why->text);
        return 0;
    }
    if (kernel_is_retired(k) || kernel_is_older(k) ||
        has_task(r, k->task->hash))
        return 0;
    run_examples_add(r, k, "archive");
    *k = (struct kernel){0};
    return 0;
}

int run_share_load(struct run *r, struct err *e)
{
    enum shared_mode mode = r->set->dry_run ? SHARED_READ : SHARED_WRITE;
    struct shared *s = shared_open(r->shared_address, mode, -1, e);
    struct shared_range range = {.dsl = r->pack->id,
                                 .until = r->shared_known ? r->shared_first
                                                          : SHARED_NEWEST};
    int rc;

    if (!s)
        return -1;
    rc = shared_each(s, &range, take_first, r, e);
    r->shared_first = r->shared_last = range.until;
    shared_close(s);
    return rc;
}

/* ---- while it goes on ---- */

static void share_news(int64_t version, struct kernel *k, size_t n, void *arg)
{
    struct run_share *h = arg;
    struct search_example *x = xcalloc(n + 1, sizeof(*x));
    size_t before, joined;

    for (size_t i = 0; i < n; i++)
        x[i] = (struct search_example){
            .origin = "shared",
            .name = k[i].name,
            .task_hash = k[i].task->hash,
            .evidence = kernel_evidence(&k[i]),
            .problem = {k[i].task->source, k[i].task->len},
            .plan = k[i].plan,
            .solution = k[i].solution,
            .ops = k[i].task->ops};
    before = search_archive_size(h->r->search);
    search_news(h->r->search, version, x, n);
    joined = search_archive_size(h->r->search) - before;
    if (joined)
        log_info("%zu kernel%s joined from the shared archive, version %lld",
                 joined, joined == 1 ? "" : "s", (long long)version);
    free(x);
}

static void share_word(bool bad, const char *text, void *arg)
{
    struct run_share *h = arg;

    if (bad)
        log_warn("%s", text);
    else
        log_info("%s", text);
    store_event(h->r->store, "shared", -1, 0, text);
}

static void share_look(void *arg)
{
    struct run_share *h = arg;

    sharing_look(h->sharing);
}

static void share_embed(struct str text, float *out, void *arg)
{
    struct run_share *h = arg;

    embed_vector(h->r->embed, text, out);
}

/* ---- the run's own kernels ---- */

static int own_kernel(struct run *r, const struct own *o, struct arena *a,
                      struct kernel *k, struct err *e)
{
    struct archive_ported ported;
    json_t *row;

    if (store_text(r->store, o->code, a, &k->solution, e) < 0 ||
        store_text(r->store, o->plan, a, &k->plan, e) < 0 ||
        archive_ported(r->store, o->record, a, &ported, e) < 0)
        return -1;
    if (ported.text.n)
        k->ported = ported.text;
    k->ported_why = ported.why;
    row = query_row(r->store, "run/piece",
                    json_pack("{s:I}", "task", (json_int_t)o->ord), e);
    k->piece = json_incref(json_object_get(row, "piece"));
    json_decref(row);
    return row ? 0 : -1;
}

static void share_give(struct run_share *h, const struct own *o)
{
    struct run *r = h->r;
    struct task *t = r->tasks.task[o->ord];
    struct kernel_finding f = {.method = r->set->method,
                               .model = r->set->model.model,
                               .device = r->set->verify.device,
                               .precision = r->opt.precision,
                               .dsl = r->pack->id,
                               .attempt = o->attempt};
    struct kernel k = {.task = t, .rules = VERDICT_RULES};
    struct err e = ERR_INIT;
    struct arena texts = {0};

    kernel_found(&k, &texts, t->id, &f);
    if (own_kernel(r, o, &texts, &k, &e) == 0)
        sharing_give(h->sharing, &k);
    else
        log_warn("%s is not in the shared archive: %s", t->id, e.text);
    arena_release(&texts);
    json_decref(k.piece);
}

static void on_durable(const struct err *e, void *arg)
{
    struct own *o = arg;

    o->share->owns--;
    if (!e)
        share_give(o->share, o);
}

static void share_own(const struct search_own *from, void *arg)
{
    struct run_share *h = arg;
    struct own *o = arena_alloc(&h->r->memory, sizeof(*o));

    o->share = h;
    o->ord = from->ord;
    o->attempt = from->attempt;
    snprintf(o->plan, sizeof(o->plan), "%s", from->plan);
    snprintf(o->code, sizeof(o->code), "%s", from->code);
    snprintf(o->record, sizeof(o->record), "%s", from->record);
    h->owns++;
    store_after(h->r->store, on_durable, o);
}

/* ---- beginning and end ---- */

const struct search_shared *run_share_open(struct run *r)
{
    struct run_share *h;

    if (!r->shared_address)
        return NULL;
    query_texts(r->store);
    h = r->share = xcalloc(1, sizeof(*h));
    h->r = r;
    h->search = (struct search_shared){.look = share_look,
                                       .own = share_own,
                                       .embed = r->embed ? share_embed : NULL,
                                       .arg = h};
    if (!r->embed)
        log_info("with --embeddings URL the run does not show kernels that "
                 "others add to the shared archive after it has begun");
    return &h->search;
}

int run_share_begin(struct run *r, struct err *e)
{
    struct sharing_opts o = {.address = r->shared_address,
                             .dsl = r->pack->id,
                             .version = r->shared_last,
                             .eager = !search_takes_news(r->search) ||
                                      search_is_eager(r->search),
                             .news = share_news,
                             .word = share_word,
                             .arg = r->share};

    if (!r->share)
        return 0;
    r->share->sharing = sharing_open(r->loop, &o, e);
    return r->share->sharing ? 0 : -1;
}

int run_share_finish(struct run *r, struct err *e)
{
    size_t missing;

    if (!r->share || !r->share->sharing)
        return 0;
    if (store_sync(r->store, e) < 0)
        return -1;
    while (r->share->owns) /* marks that have been reached */
        loop_run_for(r->loop, TICK_S);
    missing = sharing_finish(r->share->sharing,
                             r->stopping ? FINISH_NS / 5 : FINISH_NS);
    if (missing)
        log_warn("%zu kernel%s not reached the shared archive; 'monkeys resume "
                 "%s' sends %s when the server is back",
                 missing, missing == 1 ? " has" : "s have", r->set->out,
                 missing == 1 ? "it" : "them");
    return 0;
}

void run_share_close(struct run *r)
{
    if (!r->share)
        return;
    sharing_close(r->share->sharing);
    free(r->share);
    r->share = NULL;
}
