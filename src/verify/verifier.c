/* verifier.c: questions, the one list of those without an answer, and jobs that go into
 * a folder.
 *
 * Who asks is a coroutine, and may be cancelled at any time. Its job is not: a worker
 * has it, or a file. So the job is kept apart from the question, in a list that lives
 * as long as the verifier, and points to who waits for it. A cancelled question takes
 * itself out of its job, whose answer is then dropped: the coroutine's stack, where the
 * answer was to be written, is gone. */
#include "verify/verifier.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/map.h"
#include "base/mem.h"
#include "io/frame.h"
#include "io/link.h"
#include "verify/backend.h"
#include "verify/check.h"
#include "verify/verdict.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TASK_MS   600000  /* for the look at a task */
#define PIECES_MS 1200000 /* for its pieces */

struct verifier {
    struct loop *loop;
    const char *device;
    struct check *check;
    const char *secret;
    char own_secret[HASH_HEX];
    struct asked *first, *last;
    size_t pending;
    struct workers *workers; /* one of these two */
    struct job_folder *folder;
    verifier_fake_fn *fake; /* or this */
    void *fake_arg;
    bool fake_dead;
};

/* ---- jobs ---- */

#define DEADLINE_CALLS 8  /* that a job has time for; it may make more */
#define POOL           16 /* attempts that are asked the same */
#define TIMING_MS      120000
#define FEEDBACK_CHARS 4000

static void job_seed(const char *secret, const char *task, const char *label,
                     char out[HASH_HEX])
{
    char *text = xasprintf("%s\n%s", task, label);

    hash_hmac_hex(secret, str_of(text), out);
    free(text);
}

void job_seeds(const char *secret, const char *task, size_t attempt,
               struct job_seeds *out)
{
    char label[40];

    snprintf(label, sizeof(label), "%zu", attempt);
    job_seed(secret, task, label, out->own);
    snprintf(label, sizeof(label), "pool %zu", attempt / POOL);
    job_seed(secret, task, label, out->pool);
}

static json_t *task_json(const struct task *t)
{
    return json_pack("{s:s, s:o, s:O?}", "id", t->id, "source",
                     jsn_of(t->source), "sidecar", t->sidecar);
}

static json_t *devices_json(const struct pack *p)
{
    json_t *list = json_array();

    for (int i = PACK_CPU; i <= PACK_CUDA; i++)
        if (p->run.devices & 1u << i)
            json_array_append_new(list, json_string(pack_devices[i]));
    return list;
}

static int64_t call_ms(const struct pack *p, const struct job_opts *o)
{
    return o->call_ms ? o->call_ms : (int64_t)p->run.hang_timeout_s * 1000;
}

static int64_t load_ms(const struct pack *p)
{
    return (int64_t)p->build.timeout_s * 1000;
}

static int64_t job_deadline_ms(const struct pack *p, const struct job_opts *o)
{
    if (o->whole_ms)
        return o->whole_ms;
    return 2 * load_ms(p) + DEADLINE_CALLS * call_ms(p, o) + TIMING_MS;
}

json_t *job_verify(const struct pack *p, const struct task *t,
                   struct str candidate, const struct job_opts *o,
                   const struct job_seeds *seeds)
{
    json_t *job = json_pack(
        "{s:s, s:i, s:s, s:s?, s:o, s:s, s:s, s:s, s:b, s:o, s:o, s:s, s:s, "
        "s:{s:I, s:I, s:i}, s:{s:I}}",
        "kind", "verify", "rules", VERDICT_RULES, "pack", p->id, "family",
        p->run.family, "devices", devices_json(p), "device", o->device,
        "precision", o->precision, "protocol", o->protocol, "timing", o->timing,
        "task", task_json(t), "candidate", jsn_text(candidate.p, candidate.n),
        "seed", seeds->own, "pool", seeds->pool, "deadlines", "load_ms",
        (json_int_t)load_ms(p), "call_ms", (json_int_t)call_ms(p, o),
        "timing_ms", TIMING_MS, "limits", "memory_bytes",
        (json_int_t)o->memory_bytes);

    if (o->gate)
        json_object_set_new(job, "gate", json_true());
    return job;
}

static json_t *job_task(const struct task *t, const struct job_opts *o,
                        const char *seed)
{
    json_t *job =
        json_pack("{s:s, s:s, s:s, s:b, s:o, s:s}", "kind", "task", "device",
                  o->device, "precision", o->precision, "self_test",
                  o->self_test, "task", task_json(t), "seed", seed);

    if (o->foreign)
        json_object_set_new(job, "foreign", json_true());
    return job;
}

/* What both questions about pieces have. */
static json_t *pieces_job(const char *kind, const struct task *t,
                          const struct job_opts *o, const char *seed)
{
    return json_pack("{s:s, s:s, s:s, s:o, s:s, s:{s:I}}", "kind", kind,
                     "device", o->device, "precision", o->precision, "task",
                     task_json(t), "seed", seed, "limits", "memory_bytes",
                     (json_int_t)o->memory_bytes);
}

static json_t *job_decompose(const struct task *t, const char *level,
                             const struct job_opts *o, const char *seed)
{
    json_t *job = pieces_job("decompose", t, o, seed);

    json_object_set_new(job, "level", json_string(level));
    return job;
}

static json_t *job_validate(const struct task *t, const json_t *proposal,
                            const struct job_opts *o, const char *seed)
{
    json_t *job = pieces_job("validate", t, o, seed);

    json_object_set(job, "level", json_object_get(proposal, "level"));
    json_object_set(job, "proposal", (json_t *)proposal);
    return job;
}

char *job_text(const json_t *job, char *id)
{
    char *text = jsn_canonical(job);

    if (id)
        hash_hex(text, strlen(text), id);
    return text;
}

static void put_finding(struct buf *b, const struct finding *f)
{
    if (f->line) /* else it is about the whole file */
        buf_printf(b, "line %u: ", f->line);
    buf_printf(b, "%s [%s]\n", f->message, f->rule);
}

static json_t *job_static_reject(const struct check_result *r)
{
    const char *rule = NULL;
    struct buf b = BUF_INIT;
    json_t *record;

    buf_puts(&b, "The static rules refuse it:\n");
    for (size_t i = 0; i < r->len; i++) {
        const struct finding *f = &r->finding[i];

        if (f->severity != CHECK_ERROR)
            continue;
        if (!rule)
            rule = f->rule;
        if (b.len < FEEDBACK_CHARS - 500)
            put_finding(&b, f);
    }
    record = verdict_unrun(VERDICT_STATIC_REJECT, rule, buf_view(&b));
    buf_release(&b);
    return record;
}

void job_add_hint(json_t *record, const struct pack *p)
{
    enum verdict verdict = verdict_in(record);
    json_t *feedback = json_object_get(record, "feedback");
    const json_t *message = json_object_get(record, "message");
    struct rx_ctx *c;
    struct buf b = BUF_INIT;

    if (!json_is_string(feedback) || verdict == VERDICT_CORRECT ||
        verdict == VERDICT_UNKNOWN)
        return;
    if (!json_is_string(message))
        message = feedback;
    c = rx_ctx_new(&rx_limits_default);
    buf_put(&b, json_string_value(feedback), json_string_length(feedback));
    buf_puts(&b, "\nHint: ");
    if (hint_find(&p->hints, c, verdicts[verdict].hint_stage,
                  (struct str){json_string_value(message),
                               json_string_length(message)},
                  &b))
        json_object_set_new(record, "feedback", jsn_text(buf_str(&b), b.len));
    buf_release(&b);
    rx_ctx_free(c);
}

/* ---- answers ---- */

struct asked *asked_first(const struct verifier *v)
{
    return v->first;
}

static void asked_free(struct asked *a)
{
    struct verifier *v = a->v;

    *(a->prev ? &a->prev->next : &v->first) = a->next;
    *(a->next ? &a->next->prev : &v->last) = a->prev;
    v->pending--;
    free(a->task);
    free(a->text);
    free(a);
}

/* A worker of another version of the program judges by other rules. NULL: these
 * are ours; the caller frees it. */
static char *verifier_other_rules(const json_t *record)
{
    if (verdict_in(record) >= VERDICT_INFRA ||
        verdict_rules(record) == VERDICT_RULES)
        return NULL;
    return xasprintf("the worker judged by version %lld of the rules of truth, "
                     "this program has version %d; use the same version of "
                     "both",
                     (long long)verdict_rules(record), VERDICT_RULES);
}

static void verifier_answer_set(struct verifier_answer *to, json_t *record,
                                const char *why)
{
    to->asked = NULL;
    to->record = record;
    to->why = xstrdup(why && !record ? why : "");
    co_happen(&to->over);
}

void asked_settle(struct asked *a, const json_t *answer, const char *why)
{
    struct verifier_answer *to = a->to;
    const struct pack *pack = a->pack;
    char *refused = answer && pack ? verifier_other_rules(answer) : NULL;
    json_t *record = NULL;

    asked_free(a);
    if (to && answer && !refused) {
        record = pack ? json_deep_copy(answer) : json_copy((json_t *)answer);
        if (pack)
            job_add_hint(record, pack);
    }
    if (to)
        verifier_answer_set(to, record, refused ? refused : why);
    free(refused);
}

json_t *verifier_answer_record(const struct verifier_answer *a)
{
    if (a->record)
        return json_incref(a->record);
    return json_pack("{s:s, s:o}", "verdict", verdicts[VERDICT_INFRA].name,
                     "infra", jsn_of(a->why));
}

void verifier_answer_release(struct verifier_answer *a)
{
    json_decref(a->record);
    free(a->why);
}

/* ---- a folder of jobs and answers, for a worker that runs anywhere else:
 * 'monkeys-worker --jobs DIR/jobs --out DIR/answers' ----
 *
 * A job's id is the hash of its text, so nothing is asked twice. A job that has an
 * answer in the folder is answered at once, and one that is already in the jobs
 * file is not written again. If the other worker could not judge a job, its reason
 * is reported at once; the job stays in the jobs file, so that the worker tries it
 * again when it is started again. The secret is kept in the folder, so that the
 * same command asks the same questions when it is run again. */

struct job_folder {
    char *jobs, *answers;
    int fd;                       /* of the jobs file */
    struct map written, answered; /* ids; answered: json_t */
    struct map failed;            /* ids that have a reason instead: char * */
    struct map to_try;            /* ids that failed and can be tried again */
};

static int job_folder_on_job(const struct frame *f, void *arg, struct err *e)
{
    struct job_folder *j = arg;

    (void)e;
    if (strcmp(f->type, "job") == 0)
        map_set(&j->written, str_of(f->id), j);
    return 0;
}

static int job_folder_on_answer(const struct frame *f, void *arg, struct err *e)
{
    struct job_folder *j = arg;
    json_t *answer;

    if (strcmp(f->type, "infra") == 0) {
        free(map_get(&j->failed, str_of(f->id)));
        map_set(&j->failed, str_of(f->id), xstrndup(f->payload, f->len));
        return 0;
    }
    if (strcmp(f->type, "answer") != 0 || map_get(&j->answered, str_of(f->id)))
        return 0;
    answer = jsn_parse(j->answers, f->payload, f->len, e);
    if (answer)
        map_set(&j->answered, str_of(f->id), answer);
    return answer ? 0 : -1;
}

static int job_folder_secret(const char *dir, char secret[HASH_HEX],
                             struct err *e)
{
    char *path = fs_join(dir, "secret");
    int rc = 0;

    if (chmod(path, 0600) < 0 && errno != ENOENT)
        rc = err_sys(e, "%s: cannot be hidden from others", path);
    if (rc == 0)
        rc = key_make(path, secret, e);
    free(path);
    return rc;
}

static void job_folder_close(struct job_folder *j)
{
    if (!j)
        return;
    if (j->fd >= 0)
        close(j->fd);
    for (size_t i = 0; i < j->answered.len; i++)
        json_decref(j->answered.items[i].value);
    for (size_t i = 0; i < j->failed.len; i++)
        free(j->failed.items[i].value);
    map_release(&j->written);
    map_release(&j->answered);
    map_release(&j->failed);
    map_release(&j->to_try);
    free(j->jobs);
    free(j->answers);
    free(j);
}

/* Writes the folder's secret to `secret`. */
static struct job_folder *job_folder_open(const char *dir,
                                          char secret[HASH_HEX], struct err *e)
{
    struct job_folder *j = xcalloc(1, sizeof(*j));

    j->fd = -1;
    j->jobs = fs_join(dir, "jobs");
    j->answers = fs_join(dir, "answers");
    if (fs_mkdirs(dir, e) == 0 &&
        (j->fd = frame_file_open(j->jobs, job_folder_on_job, j, e)) >= 0 &&
        job_folder_secret(dir, secret, e) == 0 &&
        frame_file_read(j->answers, job_folder_on_answer, j, e) == 0)
        return j;
    job_folder_close(j);
    return NULL;
}

/* An answer that asking again may change. */
static bool job_folder_may_change(const json_t *answer)
{
    enum verdict v = verdict_in(answer);

    return v < VERDICT_UNKNOWN && verdicts[v].retry &&
           !jsn_true(answer, "unusable");
}

/* The job as text, with its id; `known` is the answer that the folder has. A
 * worker answers a job only once, so a job whose answer says that the verifier
 * failed is sent as a new one: `known` is then the last such answer. */
static char *job_folder_name(struct job_folder *j, json_t *what,
                             char id[HASH_HEX], const json_t **known)
{
    const json_t *answer;
    char *text;

    *known = NULL;
    for (json_int_t again = 1;; again++) {
        text = job_text(what, id);
        answer = map_get(&j->answered, str_of(id));
        if (answer)
            *known = answer;
        if (!job_folder_may_change(answer))
            return text;
        free(text);
        json_object_set_new(what, "again", json_integer(again));
    }
}

static int job_folder_write(struct job_folder *j, const char *id,
                            const char *text, int64_t deadline_ms,
                            struct err *e)
{
    struct frame f = {.type = "job", .deadline_ms = deadline_ms};

    if (map_get(&j->written, str_of(id)))
        return 0;
    snprintf(f.id, sizeof(f.id), "%s", id);
    f.payload = text;
    f.len = strlen(text);
    if (frame_write(j->fd, &f, e) < 0)
        return err_wrap(e, "%s", j->jobs);
    map_set(&j->written, str_of(id), j);
    return 0;
}

static int job_folder_put(struct job_folder *j, struct asked *a, json_t *what,
                          struct err *e)
{
    char id[HASH_HEX];
    const json_t *known;
    char *text = job_folder_name(j, what, id, &known);
    const char *why = map_get(&j->failed, str_of(id));
    bool done = known && !job_folder_may_change(known);
    int rc = done ? 0 : job_folder_write(j, id, text, a->deadline_ms, e);

    free(text);
    if (rc < 0)
        return -1;
    if (!done && (known || why))
        map_set(&j->to_try, str_of(id), j);
    if (why && !done)
        asked_settle(a, NULL, why);
    else if (known)
        asked_settle(a, known, NULL);
    return 0;
}

/* What is to be done elsewhere for `pending` jobs, and the command that does it;
 * NULL: nothing. The caller frees it. */
static char *job_folder_hint(const struct job_folder *j, size_t pending,
                             const char *device)
{
    bool cpu = strcmp(device, "cpu") == 0;
    size_t n = pending ? pending : j->to_try.len;

    if (n == 0)
        return NULL;
    return xasprintf(
        "%zu job%s %s: run 'monkeys-worker --jobs %s --out %s%s%s' "
        "on a host with the device",
        n, n == 1 ? "" : "s",
        !pending ? "failed and can be tried again"
        : n == 1 ? "waits for answers"
                 : "wait for answers",
        j->jobs, j->answers, cpu ? "" : " --device ", cpu ? "" : device);
}

/* ---- questions ---- */

/* Hands a job to the back end, which may answer it at once. Takes over `what`. */
static int verifier_put(struct verifier *v, json_t *what, int64_t deadline_ms,
                        const struct pack *pack, struct verifier_answer *out,
                        struct err *e)
{
    struct asked *a = xcalloc(1, sizeof(*a));
    int rc;

    *a = (struct asked){.v = v,
                        .pack = pack,
                        .to = out,
                        .deadline_ms = deadline_ms,
                        .prev = v->last};
    *(v->last ? &v->last->next : &v->first) = a;
    v->last = a;
    v->pending++;
    out->asked = a;
    rc = v->folder ? job_folder_put(v->folder, a, what, e)
                   : workers_put(v->workers, a, what, e);
    json_decref(what);
    if (rc < 0) {
        out->asked = NULL;
        asked_free(a);
    }
    return rc;
}

static int verifier_wait(struct verifier *v, bool patient,
                         struct verifier_answer *out)
{
    bool here = out->over.happened || patient || !verifier_elsewhere(v, false);

    if (here && co_wait(&out->over) == 0)
        return 0;
    if (out->asked)
        out->asked->to = NULL;
    out->asked = NULL;
    return -1;
}

int verifier_ask(struct verifier *v, const struct candidate *c,
                 struct verifier_answer *out, struct err *e)
{
    const struct ruleset *rules;
    struct check_result found;
    struct job_seeds seeds;

    if (v->fake) {
        json_t *record = v->fake(c, v->fake_arg);

        v->fake_dead = !record;
        verifier_answer_set(out, record, "the worker ended");
        return 0;
    }
    rules = pack_ruleset(c->pack, "default", e);
    if (!rules)
        return -1;
    found = check_source(v->check, rules, c->code);
    if (!found.accepted && !c->unchecked) {
        verifier_answer_set(out, job_static_reject(&found), NULL);
        return 0;
    }
    job_seeds(v->secret, c->task->id, c->attempt, &seeds);
    if (verifier_put(v, job_verify(c->pack, c->task, c->code, c->job, &seeds),
                     job_deadline_ms(c->pack, c->job), c->pack, out, e) < 0)
        return -1;
    return verifier_wait(v, c->patient, out);
}

int verifier_ask_job(struct verifier *v, json_t *what, int64_t deadline_ms,
                     struct verifier_answer *out, struct err *e)
{
    if (verifier_put(v, what, deadline_ms, NULL, out, e) < 0)
        return -1;
    return verifier_wait(v, false, out);
}

int verifier_check_task(struct verifier *v, const struct task *t,
                        const struct job_opts *o, struct verifier_answer *out,
                        struct err *e)
{
    char seed[HASH_HEX];

    job_seed(v->secret, t->id, "gate", seed);
    return verifier_ask_job(v, job_task(t, o, seed), TASK_MS, out, e);
}

int verifier_divide(struct verifier *v, const struct verifier_division *x,
                    struct verifier_answer *out, struct err *e)
{
    char seed[HASH_HEX];
    json_t *job;

    job_seed(v->secret, x->task->id, "pieces", seed);
    job = x->proposal ? job_validate(x->task, x->proposal, x->job, seed)
                      : job_decompose(x->task, x->level, x->job, seed);
    return verifier_ask_job(v, job, PIECES_MS, out, e);
}

/* ---- who answers ---- */

bool verifier_is_dead(const struct verifier *v)
{
    return v->fake ? v->fake_dead : v->workers && workers_are_dead(v->workers);
}

size_t verifier_elsewhere(const struct verifier *v, bool stopping)
{
    bool away = stopping && v->workers && workers_are_away(v->workers);

    return v->folder || away ? v->pending : 0;
}

struct loop *verifier_loop(const struct verifier *v)
{
    return v->loop;
}

char *verifier_hint(const struct verifier *v)
{
    return v->folder ? job_folder_hint(v->folder, v->pending, v->device) : NULL;
}

/* ---- opening and closing ---- */

/* Where workers connect to if nobody says. */
#define LOOPBACK "127.0.0.1:0"

/* What follows NAME= in --verifier; NULL: it names something else. */
static const char *verifier_operand(const char *word, const char *name)
{
    size_t n = strlen(name);

    return strncmp(word, name, n) == 0 && word[n] ? word + n : NULL;
}

/* One worker that we start ourselves needs no address; others do. */
static bool verifier_is_plain(const struct verifier_opts *o)
{
    return (!o->launcher || strcmp(o->launcher, "local") == 0) &&
           o->workers <= 1;
}

static int verifier_open_backend(struct verifier *v,
                                 const struct verifier_opts *o, struct err *e)
{
    const char *dir = verifier_operand(o->verifier, "jobs="),
               *address = verifier_operand(o->verifier, "tcp=");

    if (dir) {
        v->folder = job_folder_open(dir, v->own_secret, e);
        return v->folder ? 0 : -1;
    }
    if (!address && strcmp(o->verifier, "local") != 0)
        return err_set(e, ERR_USAGE,
                       "--verifier: '%s' is not local or tcp=HOST:PORT or "
                       "jobs=DIR",
                       o->verifier);
    if (!address && !verifier_is_plain(o))
        address = LOOPBACK;
    v->workers = workers_open(v, v->loop, o, address, e);
    return v->workers ? 0 : -1;
}

struct verifier *verifier_open(struct loop *l, const struct verifier_opts *o,
                               struct err *e)
{
    struct verifier *v = xcalloc(1, sizeof(*v));

    v->loop = l;
    v->device = o->device;
    v->check = check_new(NULL);
    v->secret = o->secret ? o->secret : v->own_secret;
    if (hash_secret_hex(v->own_secret, e) == 0 &&
        verifier_open_backend(v, o, e) == 0)
        return v;
    verifier_close(v);
    return NULL;
}

struct verifier *verifier_fake(verifier_fake_fn *fn, void *arg)
{
    struct verifier *v = xcalloc(1, sizeof(*v));

    v->fake = fn;
    v->fake_arg = arg;
    return v;
}

void verifier_close(struct verifier *v)
{
    if (!v)
        return;
    workers_close(v->workers);
    job_folder_close(v->folder);
    while (v->first)
        asked_free(v->first);
    check_free(v->check);
    free(v);
}
