/* resume.c: the rows of a run, brought back.
 *
 * A run that continues makes all its decisions again, and takes from here what came of
 * them. The rows do not say what to do next: that follows from what was in the archive
 * when a prompt was built. So entries do not simply join: each waits for the barrier that
 * it joined at, and the versions that attempts have seen are kept. A verdict that a crash cut off from its attempt is used,
 * and not judged again: another judgement could differ, and an attempt that has been
 * seen by a reviewer would be paid for twice. */
#include "search/resume.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct kept_attempts {
    struct finished *finished;
    size_t len, cap;
    struct row_verdict *loose; /* without its attempt, or NULL */
};

struct resume {
    struct search *s;
    struct arena memory;
    size_t tasks;
    struct kept_attempts *attempts; /* by task */
    struct row_entry *entry;        /* own and shared ones, in their order */
    size_t entry_len, entry_next;
    struct store_list look; /* in their order */
    int64_t seen_version;
};

void resume_free(struct resume *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->s->task_len; i++)
        free(r->attempts[i].finished);
    free(r->attempts);
    free(r->entry);
    free(r->look.row);
    arena_release(&r->memory);
    free(r);
}

const struct finished *resume_finished(const struct resume *r,
                                       const struct task_state *t,
                                       size_t number)
{
    const struct kept_attempts *k = &r->attempts[t->ord];

    return number <= k->len ? &k->finished[number - 1] : NULL;
}

const struct row_verdict *resume_verdict(const struct resume *r,
                                         const struct task_state *t, int number)
{
    const struct row_verdict *loose = r->attempts[t->ord].loose;

    return loose && loose->attempt == number ? loose : NULL;
}

const struct row_entry *resume_entry(const struct resume *r)
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

static struct task_state *resume_task(struct resume *r, int64_t ord,
                                      struct err *e)
{
    if (ord >= 0 && (size_t)ord < r->s->task_len)
        return &r->s->task[ord];
    err_set(e, ERR_INPUT,
            "the run began with other tasks: a row belongs to task %lld, but "
            "there are only %zu; restore the tasks that it began with",
            (long long)ord + 1, r->s->task_len);
    return NULL;
}

/* ---- tasks ---- */

static int read_task(struct resume *r, const struct row_task *row,
                     struct err *e)
{
    struct task_state *t = resume_task(r, row->ord, e);

    r->tasks++;
    if (!t)
        return -1;
    if (strcmp(t->task->id, row->id) != 0 ||
        strcmp(t->source, row->source) != 0)
        return err_set(e, ERR_INPUT,
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
    struct buf ops = BUF_INIT, needs = BUF_INIT, parents = BUF_INIT;

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

static int count_call(const void *row, void *arg)
{
    const struct row_call *r = row;

    *(size_t *)arg += r->task >= 0;
    return 0;
}

/* Tasks are stored before the first call. If the program ended in between, only
 * some of them are there. */
static int begin_tasks(struct resume *r, struct err *e)
{
    struct search *s = r->s;
    size_t calls = 0;

    if (store_each(s->part.store, STORE_CALLS, count_call, &calls, e) != 0)
        return -1;
    if (calls || r->tasks > s->task_len)
        return err_set(e, ERR_INPUT,
                       "the run started with %zu tasks, but now there are %zu",
                       r->tasks, s->task_len);
    write_tasks(s, r->tasks);
    return store_sync(s->part.store, e);
}

/* ---- attempts and verdicts ---- */

static void copy_hash(char *to, const char *from)
{
    snprintf(to, HASH_HEX, "%s", from ? from : "");
}

static int read_attempt(struct resume *r, const struct row_attempt *row,
                        struct err *e)
{
    struct task_state *t = resume_task(r, row->task, e);
    struct kept_attempts *k;
    struct finished *p;

    if (!t)
        return -1;
    k = &r->attempts[row->task];
    if ((size_t)row->attempt != k->len + 1)
        return err_set(e, ERR_INPUT, "%s: attempt %lld follows attempt %zu",
                       t->task->id, (long long)row->attempt, k->len);
    if (row->archive_version > r->seen_version)
        r->seen_version = row->archive_version;
    k->finished = xgrow(k->finished, &k->cap, k->len, sizeof(*k->finished));
    p = &k->finished[k->len++];
    *p = (struct finished){.verdict = verdict_of(row->verdict),
                           .fitness = row->fitness,
                           .solved = row->solved};
    if (p->verdict >= VERDICTS)
        return err_set(e, ERR_INPUT, "%s: unknown verdict %s", t->task->id,
                       row->verdict);
    copy_hash(p->plan, row->plan);
    copy_hash(p->code, row->code);
    copy_hash(p->normal, row->code_hash);
    return 0;
}

static int read_verdict(struct resume *r, const struct row_verdict *row,
                        struct err *e)
{
    struct kept_attempts *k;
    struct finished *p;

    if (!resume_task(r, row->task, e))
        return -1;
    k = &r->attempts[row->task];
    if ((size_t)row->attempt > k->len) {
        k->loose = arena_alloc(&r->memory, sizeof(*k->loose));
        *k->loose = (struct row_verdict){
            .attempt = row->attempt,
            .record = arena_strdup(&r->memory, row->record ? row->record : ""),
            .times = arena_strdup(&r->memory, row->times ? row->times : "")};
        return 0;
    }
    p = &k->finished[row->attempt - 1];
    p->archivable = verdict_may_join(row->verdict, row->evidence);
    copy_hash(p->feedback, row->feedback);
    copy_hash(p->record, row->record);
    return 0;
}

/* ---- entries of the archive ---- */

bool resume_looked(const struct resume *r, int64_t round)
{
    const struct row_look *look = r->look.row;

    for (size_t i = 0; i < r->look.len; i++)
        if (look[i].round == round)
            return true;
    return false;
}

/* The look is stored after its entries, and before an attempt sees them. */
int64_t resume_round(const struct resume *r, const struct row_entry *x)
{
    const struct row_look *look = r->look.row;

    for (size_t i = 0; i < r->look.len; i++)
        if (look[i].version >= x->version)
            return look[i].round;
    return 0;
}

bool resume_is_shared(const struct row_entry *x)
{
    return strcmp(x->origin, "shared") == 0;
}

static int join_texts(struct search *s, const struct row_entry *k,
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

int resume_join_shared(struct search *s, const struct row_entry *k,
                       struct err *e)
{
    struct search_example x = {
        .origin = "shared", .name = k->name, .evidence = k->evidence};
    struct store *st = s->part.store;
    struct arena texts = {0};
    int rc = -1;

    if (!s->part.shared || !s->part.shared->embed)
        return err_set(e, ERR_INPUT,
                       "the run has entries of a shared archive; continue it "
                       "with the --archive that it began with");
    if (store_text(st, k->problem, &texts, &x.problem, e) == 0 &&
        store_text(st, k->plan, &texts, &x.plan, e) == 0 &&
        store_text(st, k->solution, &texts, &x.solution, e) == 0)
        rc = join_texts(s, k, &x, e);
    arena_release(&texts);
    return rc;
}

/* Eager order: the task's kernel joins as it had. */
static int join_own(struct search *s, const struct row_entry *k, struct err *e)
{
    struct task_state *t = &s->task[k->task];
    struct search_example x = {.origin = "run",
                               .evidence = evidences[EVIDENCE_ARCHIVE].name,
                               .name = t->task->id,
                               .task_hash = t->task->hash,
                               .problem = {t->task->source, t->task->len},
                               .vector = t->vector,
                               .ops = t->task->ops};
    struct arena texts = {0};
    int rc = -1;

    if (store_text(s->part.store, k->plan, &texts, &x.plan, e) == 0 &&
        store_text(s->part.store, k->solution, &texts, &x.solution, e) == 0) {
        t->entry = archive_join(s->archive, &x, k->version);
        t->joined = true;
        rc = 0;
    }
    arena_release(&texts);
    return rc;
}

/* In strict order, entries join again at the same barriers; in eager order, all of
 * them now. */
static int read_entries(struct resume *r, struct err *e)
{
    struct store_list l = {0};
    struct row_entry *x;

    if (store_list(r->s->part.store, STORE_ENTRIES, STORE_ALL, &l, &r->memory,
                   e) < 0)
        return -1;
    r->entry = x = l.row;
    for (size_t i = 0; i < l.len; i++)
        if (resume_is_shared(&x[i]) || strcmp(x[i].origin, "run") == 0)
            x[r->entry_len++] = x[i];
    for (size_t i = 0; i < r->entry_len; i++) {
        bool shared = resume_is_shared(&x[i]);

        if (!shared && !resume_task(r, x[i].task, e))
            return -1;
        if (r->s->eager && (shared ? resume_join_shared(r->s, &x[i], e)
                                   : join_own(r->s, &x[i], e)) < 0)
            return -1;
    }
    if (r->s->eager)
        r->entry_next = r->entry_len;
    return 0;
}

/* ---- all of it ---- */

static int read_finished(struct resume *r, struct arena *rows, struct err *e)
{
    struct store_list attempt = {0}, verdict = {0};
    struct store *st = r->s->part.store;
    int rc = store_list(st, STORE_ATTEMPTS, STORE_ALL, &attempt, rows, e);

    for (size_t i = 0; rc == 0 && i < attempt.len; i++)
        rc = read_attempt(r, (const struct row_attempt *)attempt.row + i, e);
    if (rc == 0)
        rc = store_list(st, STORE_VERDICTS, STORE_ALL, &verdict, rows, e);
    for (size_t i = 0; rc == 0 && i < verdict.len; i++)
        rc = read_verdict(r, (const struct row_verdict *)verdict.row + i, e);
    free(attempt.row);
    free(verdict.row);
    return rc;
}

static int resume_read_rows(struct resume *r, struct arena *rows, struct err *e)
{
    struct store *st = r->s->part.store;
    struct store_list task = {0};
    int rc = store_list(st, STORE_TASKS, STORE_ALL, &task, rows, e);

    for (size_t i = 0; rc == 0 && i < task.len; i++)
        rc = read_task(r, (const struct row_task *)task.row + i, e);
    free(task.row);
    if (rc < 0)
        return -1;
    if (r->tasks != r->s->task_len)
        return begin_tasks(r, e);
    if (read_finished(r, rows, e) < 0 ||
        store_list(st, STORE_LOOKS, STORE_ALL, &r->look, &r->memory, e) < 0)
        return -1;
    r->s->look_count =
        r->look.len ? ((struct row_look *)r->look.row)[r->look.len - 1].look
                    : r->s->look_count;
    return read_entries(r, e);
}

struct resume *resume_load(struct search *s, struct err *e)
{
    struct resume *r = xcalloc(1, sizeof(*r));
    struct arena rows = {0};
    int rc;

    r->s = s;
    r->attempts = xcalloc(s->task_len + 1, sizeof(*r->attempts));
    rc = resume_read_rows(r, &rows, e);
    arena_release(&rows);
    if (rc == 0)
        return r;
    resume_free(r);
    return NULL;
}
