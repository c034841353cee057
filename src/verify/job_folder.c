/* job_folder.c: a folder of jobs and answers, for a worker that runs anywhere else:
 * 'monkeys-worker --jobs DIR/jobs --out DIR/answers'.
 *
 * A job's id is the hash of its text, so nothing is asked twice. A job that has an
 * answer in the folder is answered at once, and one that is already in the jobs
 * file is not written again. If the other worker could not judge a job, its reason
 * is reported at once; the job stays in the jobs file, so that the worker tries it
 * again when it is started again. The secret is kept in the folder, so that the
 * same command asks the same questions when it is run again. */
#include "verify/backend.h"

#include "base/fs.h"
#include "base/map.h"
#include "base/mem.h"
#include "io/frame.h"
#include "io/link.h"
#include "verify/verdict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct job_folder {
    char *jobs, *answers;
    int fd;                       /* of the jobs file */
    struct map written, answered; /* ids; answered: json_t */
    struct map failed;            /* ids that have a reason instead: char * */
    struct map to_try;            /* ids that failed and can be tried again */
};

/* ---- the folder ---- */

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

struct job_folder *job_folder_open(const char *dir, char secret[HASH_HEX],
                                   struct err *e)
{
    struct job_folder *j = xcalloc(1, sizeof(*j));

    map_init(&j->written);
    map_init(&j->answered);
    map_init(&j->failed);
    map_init(&j->to_try);
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

void job_folder_close(struct job_folder *j)
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

/* ---- asking ---- */

/* An answer that asking again may change. */
static bool job_folder_may_change(const json_t *answer)
{
    enum verdict v = verdict_in(answer);

    return v < VERDICT_UNKNOWN && verdicts[v].retry &&
           !json_is_true(json_object_get(answer, "unusable"));
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

int job_folder_put(struct job_folder *j, struct asked *a, json_t *what,
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

char *job_folder_hint(const struct job_folder *j, size_t pending,
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
