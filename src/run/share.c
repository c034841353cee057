/* share.c: what a run takes from the shared archive of --archive postgres://…,
 * and what it gives. */
#include "base/log.h"
#include "base/mem.h"
#include "base/tick.h"
#include "run/run_int.h"
#include "run/shared.h"
#include "run/sharing.h"
#include "run/summary.h"
#include "search/archive.h"
#include "search/embed.h"
#include "store/pg.h"

#include <stdlib.h>
#include <string.h>

#define FINISH_NS (10 * TICK_S)

/* A kernel that waits until it is durable here. */
struct own {
    struct own *next;
    int64_t ord, attempt;
    char plan[HASH_HEX], code[HASH_HEX], record[HASH_HEX];
};

struct run_share {
    struct run *r;
    struct search_shared search;
    struct sharing *sharing;
    struct own *own, **last;
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

static int count_look(const struct row_look *row, void *arg)
{
    struct run *r = arg;

    if (row->look == 1)
        r->shared_first = row->shared_version;
    r->shared_known = true;
    r->shared_last = row->shared_version;
    return 0;
}

int run_share_recall(struct run *r, struct err *e)
{
    return store_each_look(r->store, count_look, r, e) != 0 ? -1 : 0;
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

static void on_news(int64_t version, struct kernel *k, size_t n, void *arg)
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

static void on_word(bool bad, const char *text, void *arg)
{
    struct run_share *h = arg;

    if (bad)
        log_warn("%s", text);
    else
        log_info("%s", text);
    store_event(h->r->store, "shared", -1, 0, text);
}

static void look(void *arg)
{
    struct run_share *h = arg;

    sharing_look(h->sharing);
}

static void embed(struct str text, float *out, void *arg)
{
    struct run_share *h = arg;

    embed_vector(h->r->embed, text, out);
}

/* ---- the run's own kernels ---- */

/* What the task is a piece of; NULL: it is none. */
static json_t *piece_of(struct run *r, int64_t ord)
{
    struct store_list l = {0};
    struct err ignored = ERR_INIT;
    const struct row_task *row;
    json_t *piece = NULL;
    struct arena memory;

    arena_init(&memory);
    if (store_list(r->store, STORE_TASKS, ord, &l, &memory, &ignored) == 0 &&
        l.len && (row = l.row)->kind)
        piece = summary_piece_json(row);
    free(l.row);
    arena_release(&memory);
    return piece;
}

static int read_texts(struct run *r, const struct own *o, struct buf text[4],
                      struct err *e)
{
    if (store_read_blob(r->store, o->code, &text[0], e) < 0 ||
        (o->plan[0] && store_read_blob(r->store, o->plan, &text[1], e) < 0))
        return -1;
    return archive_ported(r->store, o->record, &text[2], &text[3], e);
}

static void give_texts(struct run_share *h, const struct own *o,
                       const struct buf text[4])
{
    struct run *r = h->r;
    struct task *t = r->tasks.task[o->ord];
    char *name = kernel_name(t->id),
         *origin =
             kernel_origin(r->set->method, o->attempt, r->set->model.model),
         *on = kernel_verified_on(r->set->verify.device, r->opt.precision);
    struct kernel k = {.name = name,
                       .task = t,
                       .solution = {buf_str(&text[0]), text[0].len},
                       .ported_why = buf_str(&text[3]),
                       .origin = origin,
                       .licence = "as its task",
                       .dtype = r->opt.precision,
                       .dsl = r->pack->id,
                       .verified = true,
                       .rules = VERDICT_RULES,
                       .verified_on = on,
                       .piece = piece_of(r, o->ord)};

    if (o->plan[0])
        k.plan = (struct str){buf_str(&text[1]), text[1].len};
    if (text[2].len)
        k.ported = (struct str){buf_str(&text[2]), text[2].len};
    sharing_give(h->sharing, &k);
    json_decref(k.piece);
    free(name);
    free(origin);
    free(on);
}

static void give(struct run_share *h, const struct own *o)
{
    struct err e = ERR_INIT;
    struct buf text[4];

    for (size_t i = 0; i < 4; i++)
        buf_init(&text[i], BUF_UNLIMITED);
    if (read_texts(h->r, o, text, &e) == 0)
        give_texts(h, o, text);
    else
        log_warn("%s is not in the shared archive: %s",
                 h->r->tasks.task[o->ord]->id, e.text);
    for (size_t i = 0; i < 4; i++)
        buf_release(&text[i]);
}

/* One call for each own kernel, in their order. */
static void on_durable(const struct err *e, void *arg)
{
    struct run_share *h = arg;
    struct own *o = h->own;

    h->own = o->next;
    if (!h->own)
        h->last = &h->own;
    if (!e)
        give(h, o);
    free(o);
}

static void take_own(const struct search_own *from, void *arg)
{
    struct run_share *h = arg;
    struct own *o = xcalloc(1, sizeof(*o));

    o->ord = from->ord;
    o->attempt = from->attempt;
    snprintf(o->plan, sizeof(o->plan), "%s", from->plan);
    snprintf(o->code, sizeof(o->code), "%s", from->code);
    snprintf(o->record, sizeof(o->record), "%s", from->record);
    *h->last = o;
    h->last = &o->next;
    store_after(h->r->store, on_durable, h);
}

/* ---- beginning and end ---- */

const struct search_shared *run_share_open(struct run *r)
{
    struct run_share *h;

    if (!r->shared_address)
        return NULL;
    h = r->share = xcalloc(1, sizeof(*h));
    h->r = r;
    h->last = &h->own;
    h->search = (struct search_shared){.look = look,
                                       .own = take_own,
                                       .embed = r->embed ? embed : NULL,
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
                             .news = on_news,
                             .word = on_word,
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
    while (r->share->own) /* marks that have been reached */
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
    struct own *o;

    if (!r->share)
        return;
    sharing_close(r->share->sharing);
    while ((o = r->share->own)) {
        r->share->own = o->next;
        free(o);
    }
    free(r->share);
    r->share = NULL;
}
