/* resume.c: the rows of a run, brought back. */
#include "search/resume.h"

#include "base/map.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct kept_attempts {
    struct finished *finished;
    size_t len, cap;
};

struct resume {
    struct search *s;
    struct err *e; /* while loading */
    size_t tasks;
    struct kept_attempts *attempts; /* by task */
    struct map verdicts;            /* "task/attempt": struct kept_verdict */
    struct kept_entry *entry;       /* in their order */
    size_t entry_len, entry_cap, entry_next;
    struct row_look *look; /* in their order */
    size_t look_len, look_cap;
    int64_t seen_version;
};

void resume_free(struct resume *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->s->task_len; i++)
        free(r->attempts[i].finished);
    for (size_t i = 0; i < r->verdicts.len; i++)
        free(r->verdicts.items[i].value);
    map_release(&r->verdicts);
    free(r->attempts);
    for (size_t i = 0; i < r->entry_len; i++) {
        free(r->entry[i].name);
        free(r->entry[i].evidence);
    }
    free(r->entry);
    free(r->look);
    free(r);
}

const struct finished *resume_finished(const struct resume *r,
                                       const struct task_state *t,
                                       size_t number)
{
    const struct kept_attempts *k = &r->attempts[t->ord];

    return number <= k->len ? &k->finished[number - 1] : NULL;
}

const struct kept_verdict *
resume_verdict(const struct resume *r, const struct task_state *t, int number)
{
    char key[64];

    snprintf(key, sizeof(key), "%lld/%d", (long long)t->ord, number);
    return map_get(&r->verdicts, str_of(key));
}

const struct kept_entry *resume_entry(const struct resume *r)
{
    return r->entry_next < r->entry_len ? &r->entry[r->entry_next] : NULL;
}

void resume_entry_joined(struct resume *r)
{
    r->entry_next++;
}

int64_t resume_seen_version(const struct resume *r)
{
    return r->seen_version;
}

static struct task_state *task_state_of(struct resume *r, int64_t ord)
{
    if (ord < 0 || (size_t)ord >= r->s->task_len) {
        err_set(r->e, ERR_INPUT,
                "the run began with other tasks: a row belongs to task %lld, "
                "but there are only %zu; put back the tasks that it began with",
                (long long)ord + 1, r->s->task_len);
        return NULL;
    }
    return &r->s->task[ord];
}

/* ---- tasks ---- */

static int resume_on_task(const struct row_task *row, void *arg)
{
    struct resume *r = arg;
    struct task_state *t = task_state_of(r, row->ord);

    r->tasks++;
    if (!t)
        return -1;
    if (strcmp(t->task->id, row->id) != 0 ||
        strcmp(t->source, row->source) != 0)
        return err_set(r->e, ERR_INPUT,
                       "%s is not the task %s that the run began with; restore "
                       "the file, or start a new run",
                       t->task->path, row->id);
    free(t->skipped);
    t->skipped = row->skipped ? xstrdup(row->skipped) : NULL;
    return 0;
}

static const char *put_ids(const struct search *s, const size_t *number,
                           size_t n, struct buf *out)
{
    buf_reset(out);
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s\n", s->task[number[i]].task->id);
    return buf_str(out);
}

/* Those before `from` are stored: a file may have been named by another path
 * then. */
static void write_tasks(struct search *s, size_t from)
{
    struct buf ops, needs, parents;

    buf_init(&ops, BUF_UNLIMITED);
    buf_init(&needs, BUF_UNLIMITED);
    buf_init(&parents, BUF_UNLIMITED);
    for (size_t i = from; i < s->task_len; i++) {
        const struct task_state *t = &s->task[i];
        struct row_task row = {.ord = t->ord,
                               .id = t->task->id,
                               .hash = t->task->hash,
                               .source = t->source,
                               .path = t->task->path,
                               .skipped = t->skipped,
                               .depth = (int64_t)t->depth};

        if (t->piece) {
            row.kind = t->piece->kind;
            row.level = t->piece->level;
            row.title = t->piece->title;
            row.needs =
                put_ids(s, t->piece->needs, t->piece->need_count, &needs);
            row.parents =
                put_ids(s, t->piece->parents, t->piece->parent_count, &parents);
        }
        buf_reset(&ops);
        for (const char **op = t->task->ops; *op; op++)
            buf_printf(&ops, "%s\n", *op);
        row.ops = buf_str(&ops);
        store_blob_as(s->part.store,
                      (struct str){t->task->source, t->task->len}, t->source);
        store_task(s->part.store, &row);
    }
    buf_release(&ops);
    buf_release(&needs);
    buf_release(&parents);
}

static int count_call(const struct row_call *row, void *arg)
{
    *(size_t *)arg += row->task >= 0;
    return 0;
}

/* Tasks are stored before the first call. If the program ended in between, only
 * some of them are there. */
static int begin_tasks(struct resume *r)
{
    struct search *s = r->s;
    size_t calls = 0;

    if (store_each_call(s->part.store, count_call, &calls, r->e) != 0)
        return -1;
    if (calls || r->tasks > s->task_len)
        return err_set(r->e, ERR_INPUT,
                       "the run started with %zu tasks, but now there are %zu",
                       r->tasks, s->task_len);
    write_tasks(s, r->tasks);
    return store_sync(s->part.store, r->e);
}

/* ---- attempts and verdicts ---- */

static void copy_hash(char *to, const char *from)
{
    snprintf(to, HASH_HEX, "%s", from ? from : "");
}

static int on_attempt(const struct row_attempt *row, void *arg)
{
    struct resume *r = arg;
    struct task_state *t = task_state_of(r, row->task);
    struct kept_attempts *k;
    struct finished *p;

    if (!t)
        return -1;
    k = &r->attempts[row->task];
    if ((size_t)row->attempt != k->len + 1)
        return err_set(r->e, ERR_INPUT, "%s: attempt %lld follows attempt %zu",
                       t->task->id, (long long)row->attempt, k->len);
    if (row->archive_version > r->seen_version)
        r->seen_version = row->archive_version;
    k->finished = xgrow(k->finished, &k->cap, k->len, sizeof(*k->finished));
    p = &k->finished[k->len++];
    *p = (struct finished){.verdict = verdict_of(row->verdict),
                           .fitness = row->fitness,
                           .solved = row->solved};
    if (p->verdict >= VERDICTS)
        return err_set(r->e, ERR_INPUT, "%s: unknown verdict %s", t->task->id,
                       row->verdict);
    copy_hash(p->plan, row->plan);
    copy_hash(p->code, row->code);
    copy_hash(p->normal, row->code_hash);
    return 0;
}

static void keep_verdict(struct resume *r, const struct row_verdict *row)
{
    const char *times = row->times ? row->times : "";
    struct kept_verdict *k = xmalloc(sizeof(*k) + strlen(times) + 1);
    char key[64];

    copy_hash(k->record, row->record);
    memcpy(k->times, times, strlen(times) + 1);
    snprintf(key, sizeof(key), "%lld/%lld", (long long)row->task,
             (long long)row->attempt);
    map_set(&r->verdicts, str_of(key), k);
}

static int on_verdict(const struct row_verdict *row, void *arg)
{
    struct resume *r = arg;
    struct finished *p;

    if (!task_state_of(r, row->task))
        return -1;
    if ((size_t)row->attempt > r->attempts[row->task].len) {
        keep_verdict(r, row);
        return 0;
    }
    p = &r->attempts[row->task].finished[row->attempt - 1];
    p->archivable = verdict_may_join(row->verdict, row->evidence);
    copy_hash(p->feedback, row->feedback);
    copy_hash(p->record, row->record);
    return 0;
}

/* ---- entries of the archive ---- */

static int resume_on_look(const struct row_look *row, void *arg)
{
    struct resume *r = arg;

    r->look = xgrow(r->look, &r->look_cap, r->look_len, sizeof(*r->look));
    r->look[r->look_len++] = *row;
    r->s->look_count = row->look;
    return 0;
}

bool resume_looked(const struct resume *r, int64_t round)
{
    for (size_t i = 0; i < r->look_len; i++)
        if (r->look[i].round == round)
            return true;
    return false;
}

/* The look is stored after its entries, and before an attempt sees them. */
static int64_t round_of(const struct resume *r, int64_t version)
{
    for (size_t i = 0; i < r->look_len; i++)
        if (r->look[i].version >= version)
            return r->look[i].round;
    return 0;
}

static void keep_shared(const struct resume *r, const struct row_entry *row,
                        struct kept_entry *k)
{
    k->shared = true;
    k->round = round_of(r, row->version);
    k->name = xstrdup(row->name);
    k->evidence = row->evidence ? xstrdup(row->evidence) : NULL;
    copy_hash(k->problem, row->problem);
    copy_hash(k->plan, row->plan);
    copy_hash(k->solution, row->solution);
}

/* In strict order, entries join again at the same barriers. */
static int resume_on_entry(const struct row_entry *row, void *arg)
{
    struct resume *r = arg;
    bool shared = strcmp(row->origin, "shared") == 0;
    struct kept_entry *k;

    if (!shared && strcmp(row->origin, "run") != 0)
        return 0;
    if (!shared && !task_state_of(r, row->task))
        return -1;
    r->entry = xgrow(r->entry, &r->entry_cap, r->entry_len, sizeof(*r->entry));
    k = &r->entry[r->entry_len++];
    *k = (struct kept_entry){.version = row->version};
    if (shared)
        keep_shared(r, row, k);
    else
        k->task = (size_t)row->task;
    return 0;
}

static int read_blob(struct search *s, const char *blob, struct buf *b,
                     struct str *out, struct err *e)
{
    if (!blob || !blob[0])
        return 0;
    if (store_read_blob(s->part.store, blob, b, e) < 0)
        return -1;
    *out = (struct str){buf_str(b), b->len};
    return 0;
}

static int join_texts(struct search *s, const struct kept_entry *k,
                      struct search_example *x, struct err *e)
{
    struct task *t = task_from(k->name, x->problem, e);
    float *vector;

    if (!t)
        return err_wrap(e, "an entry of the archive");
    vector = xcalloc(s->part.dim, sizeof(*vector));
    s->part.shared->embed(x->problem, vector, s->part.shared->arg);
    x->task_hash = t->hash;
    x->ops = t->ops;
    x->vector = vector;
    archive_join(s->archive, x, k->version);
    free(vector);
    task_free(t);
    return 0;
}

int resume_join_shared(struct search *s, const struct kept_entry *k,
                       struct err *e)
{
    struct search_example x = {
        .origin = "shared", .name = k->name, .evidence = k->evidence};
    struct buf problem, plan, code;
    int rc = -1;

    if (!s->part.shared || !s->part.shared->embed)
        return err_set(e, ERR_INPUT,
                       "the run has entries of a shared archive; continue it "
                       "with the --archive that it began with");
    buf_init(&problem, BUF_UNLIMITED);
    buf_init(&plan, BUF_UNLIMITED);
    buf_init(&code, BUF_UNLIMITED);
    if (read_blob(s, k->problem, &problem, &x.problem, e) == 0 &&
        read_blob(s, k->plan, &plan, &x.plan, e) == 0 &&
        read_blob(s, k->solution, &code, &x.solution, e) == 0)
        rc = join_texts(s, k, &x, e);
    buf_release(&problem);
    buf_release(&plan);
    buf_release(&code);
    return rc;
}

static int join_eager_shared(struct resume *r, const struct row_entry *row)
{
    struct kept_entry k = {.version = row->version};
    int rc;

    keep_shared(r, row, &k);
    rc = resume_join_shared(r->s, &k, r->e);
    free(k.name);
    free(k.evidence);
    return rc;
}

static int on_eager_entry(const struct row_entry *row, void *arg)
{
    struct resume *r = arg;
    struct task_state *t;
    struct search_example x = {.origin = "run",
                               .evidence = evidences[EVIDENCE_ARCHIVE].name};
    struct buf plan, code;
    int rc = -1;

    if (strcmp(row->origin, "shared") == 0)
        return join_eager_shared(r, row);
    if (strcmp(row->origin, "run") != 0)
        return 0;
    t = task_state_of(r, row->task);
    if (!t)
        return -1;
    buf_init(&plan, BUF_UNLIMITED);
    buf_init(&code, BUF_UNLIMITED);
    if (read_blob(r->s, row->plan, &plan, &x.plan, r->e) == 0 &&
        read_blob(r->s, row->solution, &code, &x.solution, r->e) == 0) {
        x.name = t->task->id;
        x.task_hash = t->task->hash;
        x.problem = (struct str){t->task->source, t->task->len};
        x.vector = t->vector;
        x.ops = t->task->ops;
        t->entry = archive_join(r->s->archive, &x, row->version);
        t->joined = true;
        rc = 0;
    }
    buf_release(&plan);
    buf_release(&code);
    return rc;
}

/* ---- all of it ---- */

static int resume_read(struct resume *r)
{
    struct store *st = r->s->part.store;
    struct err *e = r->e;

    if (store_each_task(st, resume_on_task, r, e) != 0)
        return -1;
    if (r->tasks != r->s->task_len)
        return begin_tasks(r);
    if (store_each_attempt(st, on_attempt, r, e) != 0 ||
        store_each_verdict(st, on_verdict, r, e) != 0 ||
        store_each_look(st, resume_on_look, r, e) != 0 ||
        store_each_entry(st, r->s->eager ? on_eager_entry : resume_on_entry, r,
                         e) != 0)
        return -1;
    return 0;
}

struct resume *resume_load(struct search *s, struct err *e)
{
    struct resume *r = xcalloc(1, sizeof(*r));
    int rc;

    r->s = s;
    r->e = e;
    r->attempts = xcalloc(s->task_len + 1, sizeof(*r->attempts));
    map_init(&r->verdicts);
    rc = resume_read(r);
    r->e = NULL;
    if (rc == 0)
        return r;
    resume_free(r);
    return NULL;
}
