/* schedule.c: rounds and slots: who may begin now, when a round is over, when
 * the run is. */
#include "base/log.h"
#include "base/mem.h"
#include "search/search_int.h"

#include <string.h>

void schedule_fail(struct search *s, const struct err *e)
{
    if (s->failed.kind == ERR_NONE)
        s->failed = *e;
    s->stopping = 2;
    s->finished = true;
    loop_stop(s->part.loop);
}

void schedule_break(struct search *s)
{
    s->broken = true;
    if (!s->stopping)
        search_stop(s);
}

static void finish(struct search *s, enum search_end end)
{
    if (s->finished)
        return;
    s->finished = true;
    s->end = end;
    loop_stop(s->part.loop);
}

/* ---- rounds ---- */

bool schedule_eager(const struct search *s)
{
    return s->method->choose == methods[0].choose &&
           strcmp(s->opt.order, "eager") == 0;
}

/* Tasks at once. A mini-batch is all of it. */
static size_t slots(const struct search *s)
{
    return s->round.each == 1 || schedule_eager(s) ? (size_t)s->opt.batch
                                                   : (size_t)s->opt.slots;
}

static int attempts_left(const struct search *s, const struct subject *t)
{
    int64_t all = s->opt.attempts - (int64_t)t->past_len, phase = all;

    if (s->method->next_round == methods[4].next_round) {
        phase = -(int64_t)t->past_len;
        for (int i = 0; i < s->round.batch; i++)
            phase += s->opt.phase[i];
    } else if (s->round.each == 1) {
        phase = s->round.iteration - (int64_t)t->past_len;
    }
    return (int)(phase < all ? phase : all);
}

static int read_example(struct search *s, const struct past *p,
                        struct buf *plan, struct buf *code, struct err *e)
{
    if (p->plan[0] && store_read_blob(s->part.store, p->plan, plan, e) < 0)
        return -1;
    return store_read_blob(s->part.store, p->code, code, e);
}

/* What was verified is kept with the entry. */
static int keep_ported(struct search *s, const struct past *p,
                       struct row_entry *row, char hash[HASH_HEX],
                       struct err *e)
{
    struct buf text, why;
    int rc;

    buf_init(&text, BUF_UNLIMITED);
    buf_init(&why, BUF_UNLIMITED);
    rc = archive_ported(s->part.store, p->record, &text, &why, e);
    if (rc == 0 && text.len) {
        store_blob(s->part.store, (struct str){buf_str(&text), text.len}, hash);
        row->ported = hash;
    }
    buf_release(&text);
    buf_release(&why);
    return rc;
}

static void join(struct search *s, struct subject *t, int64_t version)
{
    const struct past *p = &t->past[t->join_at - 1];
    struct search_example x = {.origin = "run",
                               .name = t->task->id,
                               .task_hash = t->task->hash,
                               .evidence = evidences[EVIDENCE_ARCHIVE].name,
                               .problem = {t->task->source, t->task->len},
                               .vector = t->vector,
                               .ops = t->task->ops};
    struct row_entry row = {.version = version,
                            .origin = "run",
                            .task = t->ord,
                            .attempt = t->join_at,
                            .name = t->task->id,
                            .task_hash = t->task->hash,
                            .problem = t->source,
                            .plan = p->plan[0] ? p->plan : NULL,
                            .solution = p->code,
                            .evidence = evidences[EVIDENCE_ARCHIVE].name};
    char ported[HASH_HEX];
    struct buf plan, code;
    struct err e = ERR_INIT;

    buf_init(&plan, BUF_UNLIMITED);
    buf_init(&code, BUF_UNLIMITED);
    if (read_example(s, p, &plan, &code, &e) < 0 ||
        keep_ported(s, p, &row, ported, &e) < 0) {
        schedule_fail(s, &e);
    } else {
        if (p->plan[0])
            x.plan = (struct str){buf_str(&plan), plan.len};
        x.solution = (struct str){buf_str(&code), code.len};
        row.entry = t->entry = archive_join(s->archive, &x, version);
        store_blob_as(s->part.store, x.problem, t->source);
        store_entry(s->part.store, &row);
        t->joined = true;
    }
    buf_release(&plan);
    buf_release(&code);
}

/* Members that the store knows join as they did before: a task that was set
 * aside then, and is solved now, cannot take their place. */
static void join_known(struct search *s)
{
    while (s->entry_next < s->entry_len && !s->finished) {
        const struct kept_entry *k = &s->entry[s->entry_next];

        if (!s->subject[k->subject].join_at)
            return;
        join(s, &s->subject[k->subject], k->version);
        s->entry_next++;
    }
}

static void join_if_due(struct search *s, size_t subject, int64_t version)
{
    struct subject *t = &s->subject[subject];

    if (t->join_at && !t->joined && !s->finished)
        join(s, t, version);
}

/* What was solved in the round joins the archive, in the round's order; with
 * it what had to let the known ones pass. The store may hold the first members
 * of a barrier only: they share its version with the others, unless an attempt
 * has seen it without those. */
static void join_solved(struct search *s)
{
    bool held_back = s->entry_next < s->entry_len;
    int64_t before = archive_version(s->archive), version;

    join_known(s);
    if (s->entry_next < s->entry_len)
        return;
    version = archive_version(s->archive);
    if (version == before || version <= s->seen_version)
        version++;
    if (held_back)
        for (size_t i = 0; i < s->subject_len; i++)
            join_if_due(s, i, version);
    else
        for (size_t i = 0; i < s->round.count; i++)
            join_if_due(s, s->round.subject[i], version);
}

static void after_barrier(const struct err *e, void *arg)
{
    struct search *s = arg;

    s->storing_barrier = false;
    if (e)
        schedule_fail(s, e);
    else
        schedule_pump(s);
}

static void end_round(struct search *s)
{
    size_t before = archive_size(s->archive);

    join_solved(s);
    if (s->finished)
        return;
    s->round_number++;
    if (!s->method->next_round(s, &s->round)) {
        s->round.count = s->round.next = 0;
        s->round_number = SIZE_MAX;
    }
    for (size_t i = 0; i < s->round.count; i++) {
        struct subject *t = &s->subject[s->round.subject[i]];

        t->left = attempts_left(s, t);
    }
    s->count.iteration = s->round.iteration;
    if (archive_size(s->archive) != before) {
        s->storing_barrier = true;
        store_after(s->part.store, after_barrier, s);
    }
}

/* ---- slots ---- */

static bool goes_on(const struct search *s, struct subject *t)
{
    return !t->aside && (!t->solved || s->opt.no_stop) && t->left > 0;
}

static void leave_slot(struct search *s, struct subject *t)
{
    s->round.active--;
    if (!schedule_eager(s) || !goes_on(s, t))
        return;
    s->round.subject = xgrow(s->round.subject, &s->round.cap, s->round.count,
                             sizeof(*s->round.subject));
    s->round.subject[s->round.count++] = (size_t)(t - s->subject);
}

/* An attempt has become the past of its subject. */
static void count_down(struct search *s, struct subject *t)
{
    t->left--;
    if (schedule_eager(s) && t->join_at && !t->joined)
        join(s, t, archive_version(s->archive) + 1);
}

/* The subject has a slot: attempts that the store holds are taken from there,
 * the first other one is made. */
static void begin(struct search *s, struct subject *t)
{
    while (t->past_len < t->kept_len) {
        result_apply(s, t, &t->kept[t->past_len]);
        count_down(s, t);
        if (schedule_eager(s) || !goes_on(s, t)) {
            leave_slot(s, t);
            return;
        }
    }
    if (s->stopping)
        s->round.active--;
    else
        attempt_start(s, t);
}

void schedule_pump(struct search *s)
{
    while (!s->finished && !s->stopping && !s->storing_barrier &&
           s->round_number != SIZE_MAX) {
        if (s->round.next < s->round.count) {
            if (s->round.active >= slots(s))
                break;
            s->round.active++;
            begin(s, &s->subject[s->round.subject[s->round.next++]]);
        } else if (s->round.active == 0) {
            end_round(s);
        } else {
            break;
        }
    }
    schedule_check_end(s);
}

void schedule_attempt_over(struct search *s, struct subject *t)
{
    if (!t->aside)
        count_down(s, t);
    if (goes_on(s, t) && !schedule_eager(s))
        begin(s, t);
    else
        leave_slot(s, t);
    if (s->watch)
        s->watch(s->watch_arg);
    schedule_pump(s);
}

/* ---- the end ---- */

static bool only_waiting(struct search *s)
{
    size_t n = door_elsewhere(s->part.door);

    if (s->opt.no_wait || s->stopping) /* answers come by a request's name */
        n += llm_waiting(s->part.llm);
    if (n == 0)
        return false;
    for (const struct attempt *a = s->parked; a; a = a->next_parked)
        n++; /* for room, which only those can make */
    return n >= s->open_count;
}

void schedule_check_end(struct search *s)
{
    if (s->finished || s->storing_barrier)
        return;
    if (s->stopping >= 2) {
        finish(s, SEARCH_INTERRUPTED);
    } else if (s->open_count == 0 && s->stopping) {
        finish(s, s->broken      ? SEARCH_STUCK
                  : s->no_budget ? SEARCH_NO_BUDGET
                                 : SEARCH_INTERRUPTED);
    } else if (s->open_count == 0 && s->round_number == SIZE_MAX) {
        finish(s, s->count.aside ? SEARCH_STUCK : SEARCH_DONE);
    } else if (s->parked && s->in_flight == 0) {
        s->no_budget = true;
        s->stopping = 1;
        ask_unpark(s);
        if (s->open_count == 0)
            finish(s, SEARCH_NO_BUDGET);
    } else if (s->open_count && only_waiting(s)) {
        finish(s, s->stopping && !s->no_budget ? SEARCH_INTERRUPTED
                                               : SEARCH_WAITING);
    }
}
