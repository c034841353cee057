/* resume.c: what the store of a run holds, brought back: tasks that must be the
 * same, the ledger, replies and verdicts that are paid for. */
#include "base/log.h"
#include "base/mem.h"
#include "search/search_int.h"

#include <stdlib.h>
#include <string.h>

struct loading {
    struct search *s;
    struct err *e;
    size_t tasks;
};

static struct subject *subject_of(struct loading *l, int64_t ord)
{
    if (ord < 0 || (size_t)ord >= l->s->subject_len) {
        err_set(l->e, ERR_INPUT, "a row names task %lld of %zu", (long long)ord,
                l->s->subject_len);
        return NULL;
    }
    return &l->s->subject[ord];
}

/* ---- tasks ---- */

static int on_task(const struct row_task *r, void *arg)
{
    struct loading *l = arg;
    struct subject *t = subject_of(l, r->ord);
    char source[HASH_HEX];

    l->tasks++;
    if (!t)
        return -1;
    hash_hex(t->task->source, t->task->len, source);
    if (strcmp(t->task->id, r->id) != 0 || strcmp(source, r->source) != 0)
        return err_set(l->e, ERR_INPUT,
                       "%s is not the task %s that the run began with; put it "
                       "back, or start a new run",
                       t->task->path, r->id);
    free(t->skipped);
    t->skipped = r->skipped ? xstrdup(r->skipped) : NULL;
    return 0;
}

static void write_tasks(struct search *s)
{
    struct buf ops;

    buf_init(&ops, BUF_UNLIMITED);
    for (size_t i = 0; i < s->subject_len; i++) {
        const struct subject *t = &s->subject[i];
        struct row_task row = {.ord = t->ord,
                               .id = t->task->id,
                               .hash = t->task->hash,
                               .source = t->source,
                               .path = t->task->path,
                               .skipped = t->skipped};

        buf_reset(&ops);
        for (const char **op = t->task->ops; *op; op++)
            buf_printf(&ops, "%s\n", *op);
        row.ops = buf_str(&ops);
        store_blob_as(s->part.store,
                      (struct str){t->task->source, t->task->len}, t->source);
        store_task(s->part.store, &row);
    }
    buf_release(&ops);
}

static int count_call(const struct row_call *r, void *arg)
{
    (void)r;
    ++*(size_t *)arg;
    return 0;
}

/* Tasks are stored before anything is asked; a program that ended while it did
 * that left some of them. */
static int begin_tasks(struct loading *l)
{
    struct search *s = l->s;
    size_t calls = 0;

    if (store_each_call(s->part.store, count_call, &calls, l->e) != 0)
        return -1;
    if (calls || l->tasks > s->subject_len)
        return err_set(l->e, ERR_INPUT,
                       "the run began with %zu tasks, now there are %zu",
                       l->tasks, s->subject_len);
    write_tasks(s);
    return store_sync(s->part.store, l->e);
}

/* ---- attempts and verdicts ---- */

static void copy_hash(char *to, const char *from)
{
    snprintf(to, HASH_HEX, "%s", from ? from : "");
}

static int on_attempt(const struct row_attempt *r, void *arg)
{
    struct loading *l = arg;
    struct subject *t = subject_of(l, r->task);
    struct past *p;

    if (!t)
        return -1;
    if ((size_t)r->attempt != t->kept_len + 1)
        return err_set(l->e, ERR_INPUT, "%s: attempt %lld follows attempt %zu",
                       t->task->id, (long long)r->attempt, t->kept_len);
    if (r->archive_version > l->s->seen_version)
        l->s->seen_version = r->archive_version;
    t->kept = xgrow(t->kept, &t->kept_cap, t->kept_len, sizeof(*t->kept));
    p = &t->kept[t->kept_len++];
    *p = (struct past){.verdict = verdict_of(r->verdict),
                       .fitness = r->fitness,
                       .solved = r->solved};
    if (p->verdict >= VERDICTS)
        return err_set(l->e, ERR_INPUT, "%s: unknown verdict %s", t->task->id,
                       r->verdict);
    copy_hash(p->plan, r->plan);
    copy_hash(p->code, r->code);
    copy_hash(p->normal, r->code_hash);
    return 0;
}

static void keep_verdict(struct search *s, const struct row_verdict *r)
{
    const char *times = r->times ? r->times : "";
    struct kept_verdict *k = xmalloc(sizeof(*k) + strlen(times) + 1);
    char key[64];

    copy_hash(k->record, r->record);
    memcpy(k->times, times, strlen(times) + 1);
    snprintf(key, sizeof(key), "%lld/%lld", (long long)r->task,
             (long long)r->attempt);
    map_set(&s->verdicts, str_of(key), k);
}

static int on_verdict(const struct row_verdict *r, void *arg)
{
    struct loading *l = arg;
    struct subject *t = subject_of(l, r->task);
    struct past *p;

    if (!t)
        return -1;
    if ((size_t)r->attempt > t->kept_len) {
        keep_verdict(l->s, r);
        return 0;
    }
    p = &t->kept[r->attempt - 1];
    p->sealed = verdict_may_join(r->verdict, r->evidence);
    copy_hash(p->feedback, r->feedback);
    copy_hash(p->record, r->record);
    return 0;
}

/* ---- calls ---- */

static void keep_reply(struct loading *l, const struct row_call *r,
                       const char *key)
{
    const struct subject *t = subject_of(l, r->task);
    struct kept_reply *k;

    if (!t || !r->reply ||
        ((size_t)r->attempt <= t->kept_len &&
         strncmp(r->stage, "review", strlen("review")) != 0))
        return;
    k = xcalloc(1, sizeof(*k));
    copy_hash(k->reply, r->reply);
    k->cut = r->finish && strcmp(r->finish, llm_finishes[LLM_LENGTH]) == 0;
    map_set(&l->s->kept, str_of(key), k);
}

/* Its reservation stays until it is asked again. */
static void keep_waiting(struct search *s, const struct row_call *r,
                         const char *key)
{
    struct kept_open *k = xcalloc(1, sizeof(*k));
    struct budget *b = s->part.budget;

    k->held = (struct llm_cost){r->reserved_usd_micro, r->reserved_tokens};
    b->reserved = cost_add(b->reserved, k->held);
    map_set(&s->waiting, str_of(key), k);
}

/* A call that is open here waits for the same answer, where asking again is
 * free. */
static int on_call(const struct row_call *r, void *arg)
{
    struct loading *l = arg;
    struct search *s = l->s;
    bool open = strcmp(r->state, "open") == 0;
    char key[128];

    snprintf(key, sizeof(key), "%lld/%lld/%s", (long long)r->task,
             (long long)r->attempt, r->stage);
    map_set(&s->tries, str_of(key),
            (void *)(intptr_t)(open ? r->try - 1 : r->try));
    if (open) {
        keep_waiting(s, r, key);
        return 0;
    }
    s->part.budget->spent.usd_micro += r->cost_usd_micro;
    s->part.budget->spent.tokens += r->cost_tokens;
    if (strcmp(r->state, "answered") == 0)
        keep_reply(l, r, key);
    return 0;
}

/* ---- calls that were under way ---- */

struct losing {
    struct row_call *call;
    size_t len, cap;
};

static int on_open_call(const struct row_call *r, void *arg)
{
    struct losing *l = arg;
    struct row_call *c;

    if (strcmp(r->state, "open") != 0)
        return 0;
    l->call = xgrow(l->call, &l->cap, l->len, sizeof(*l->call));
    c = &l->call[l->len++];
    *c = *r;
    c->stage = xstrdup(r->stage);
    c->prompt = r->prompt ? xstrdup(r->prompt) : NULL;
    c->prompt_hash = r->prompt_hash ? xstrdup(r->prompt_hash) : NULL;
    return 0;
}

static void lose(struct store *s, struct row_call *r)
{
    r->state = "lost";
    r->cost_usd_micro = r->reserved_usd_micro;
    r->cost_tokens = r->reserved_tokens;
    r->estimated = true;
    r->reply = r->thought = r->finish = r->model = r->error = NULL;
    store_call(s, r);
    free((char *)r->stage);
    free((char *)r->prompt);
    free((char *)r->prompt_hash);
}

int search_lose_calls(struct store *s, struct err *e)
{
    struct losing l = {0};
    int rc = store_each_call(s, on_open_call, &l, e) == 0 ? 0 : -1;

    for (size_t i = 0; i < l.len; i++)
        lose(s, &l.call[i]);
    if (l.len)
        log_info("%zu calls were under way when the run ended; they count as "
                 "spent and are asked again",
                 l.len);
    free(l.call);
    return rc == 0 ? store_sync(s, e) : rc;
}

/* ---- the rest ---- */

static int on_review(const struct row_review *r, void *arg)
{
    struct loading *l = arg;

    map_set(&l->s->reviews, str_of(r->hash), l->s);
    return 0;
}

static int read_blob(struct search *s, const char *blob, struct buf *b,
                     struct str *out, struct err *e)
{
    if (!blob)
        return 0;
    if (store_read_blob(s->part.store, blob, b, e) < 0)
        return -1;
    *out = (struct str){buf_str(b), b->len};
    return 0;
}

/* In strict order members join again where they did. */
static int on_entry(const struct row_entry *r, int64_t left, void *arg)
{
    struct loading *l = arg;
    struct search *s = l->s;

    (void)left;
    if (strcmp(r->origin, "run") != 0)
        return 0;
    if (!subject_of(l, r->task))
        return -1;
    s->entry = xgrow(s->entry, &s->entry_cap, s->entry_len, sizeof(*s->entry));
    s->entry[s->entry_len++] = (struct kept_entry){(size_t)r->task, r->version};
    return 0;
}

/* In eager order members joined as it came, so the store's order is the one. */
static int on_eager_entry(const struct row_entry *r, int64_t left, void *arg)
{
    struct loading *l = arg;
    struct subject *t;
    struct search_example x = {.origin = "run",
                               .evidence = evidences[EVIDENCE_ARCHIVE].name};
    struct buf plan, code;
    int rc = -1;

    (void)left;
    if (strcmp(r->origin, "run") != 0)
        return 0;
    t = subject_of(l, r->task);
    if (!t)
        return -1;
    buf_init(&plan, BUF_UNLIMITED);
    buf_init(&code, BUF_UNLIMITED);
    if (read_blob(l->s, r->plan, &plan, &x.plan, l->e) == 0 &&
        read_blob(l->s, r->solution, &code, &x.solution, l->e) == 0) {
        x.name = t->task->id;
        x.task_hash = t->task->hash;
        x.problem = (struct str){t->task->source, t->task->len};
        x.vector = t->vector;
        x.ops = t->task->ops;
        t->entry = archive_join(l->s->archive, &x, r->version);
        t->joined = true;
        rc = 0;
    }
    buf_release(&plan);
    buf_release(&code);
    return rc;
}

int resume_load(struct search *s, struct err *e)
{
    struct loading l = {.s = s, .e = e};
    struct store *st = s->part.store;

    if (store_each_task(st, on_task, &l, e) != 0)
        return -1;
    if (l.tasks != s->subject_len)
        return begin_tasks(&l);
    if (!s->part.patient && search_lose_calls(st, e) < 0)
        return -1;
    if (store_each_attempt(st, on_attempt, &l, e) != 0 ||
        store_each_verdict(st, on_verdict, &l, e) != 0 ||
        store_each_call(st, on_call, &l, e) != 0 ||
        store_each_review(st, on_review, &l, e) != 0)
        return -1;
    return store_each_entry(st, schedule_eager(s) ? on_eager_entry : on_entry,
                            &l, e) == 0
               ? 0
               : -1;
}
