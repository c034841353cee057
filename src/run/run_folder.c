/* run_folder.c: the folder of a run: its configuration, its database, its
 * lock. */
#include "base/conf.h"
#include "base/fs.h"
#include "base/log.h"
#include "llm/cassette.h"
#include "run/parts.h"
#include "store/pg.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- run.ini ---- */

static bool is_path(const struct opt *o)
{
    return o->value &&
           (strcmp(o->value, "FILE") == 0 || strcmp(o->value, "DIR") == 0);
}

/* The path as it is from any working folder. */
static const char *absolute(struct run *r, const char *path)
{
    char cwd[PATH_MAX];

    if (!path || path[0] == '/' || pg_is_address(path) ||
        !getcwd(cwd, sizeof(cwd)))
        return path;
    return arena_printf(&r->memory, "%s/%s", cwd, path);
}

/* A command is for a shell: nobody knows which of its words are paths, so it
 * names the folder that it was given in. */
static const char *from_here(struct run *r, const char *command)
{
    static const char mark[] = "cd '/";
    char cwd[PATH_MAX];

    if (strncmp(command, mark, strlen(mark)) == 0 ||
        !getcwd(cwd, sizeof(cwd)) || strchr(cwd, '\''))
        return command;
    return arena_printf(&r->memory, "cd '%s' 2>/dev/null; %s", cwd, command);
}

static void make_absolute(struct run *r)
{
    static const char jobs[] = "jobs=";
    struct run_settings *s = r->set;

    for (const struct opt *o = run_table; o->name; o++) {
        void *at = (char *)s + o->at;
        struct opt_list *list = at;

        if (!is_path(o) || at == &s->out) /* messages name it as given */
            continue;
        if (o->type == OPT_LIST)
            for (size_t i = 0; i < list->len; i++)
                list->item[i] = absolute(r, list->item[i]);
        else
            *(const char **)at = absolute(r, *(const char **)at);
    }
    if (s->model.command)
        s->model.command = from_here(r, s->model.command);
    if (strncmp(s->verify.verifier, jobs, strlen(jobs)) == 0)
        s->verify.verifier =
            arena_printf(&r->memory, "%s%s", jobs,
                         absolute(r, s->verify.verifier + strlen(jobs)));
}

/* A task keeps its id: one that was named without a folder has none. */
static const char *task_path(struct run *r, const char *path)
{
    return absolute(
        r, strchr(path, '/') ? path : arena_printf(&r->memory, "./%s", path));
}

/* A run.ini names every task's file, in the order of the collection. */
static int write_ini(struct run *r, struct err *e)
{
    struct run_settings s = *r->set;
    const char **path =
        arena_alloc(&r->memory, (r->originals + 1) * sizeof(*path));
    char *file = fs_join(r->set->out, "run.ini");
    struct buf b = BUF_INIT;
    int rc;

    for (size_t i = 0; i < r->originals; i++)
        path[i] = task_path(r, r->tasks.task[i]->path);
    s.tasks = (struct opt_list){.item = path, .len = r->originals};
    s.set = (struct opt_list){0};
    s.out = NULL;
    s.verify.json = s.no_wait = false; /* each command's own */
    buf_puts(&b, "# Every option of this run. 'monkeys resume' reads it.\n");
    conf_write("run", run_table, &s, &b);
    rc = fs_replace(file, buf_str(&b), b.len, e);
    buf_release(&b);
    free(file);
    return rc;
}

/* run.ini keeps a value on one line, and without white space around it. */
static int check_line(const char *name, const char *value, bool path,
                      struct err *e)
{
    if (strchr(value, '\n'))
        return err_set(
            e, ERR_USAGE,
            "--%s: a value with more than one line cannot be kept in "
            "run.ini",
            name);
    if (path && str_trim(str_of(value)).n != strlen(value))
        return err_set(e, ERR_USAGE,
                       "--%s: '%s' begins or ends with a space, which cannot "
                       "be kept in run.ini",
                       name, value);
    return 0;
}

static int check_lines(const struct run *r, struct err *e)
{
    int rc = 0;

    for (const struct opt *o = run_table; rc == 0 && o->name; o++) {
        const void *at = (const char *)r->set + o->at;
        const struct opt_list *list = at;

        if (at == &r->set->out || at == &r->set->tasks || at == &r->set->set)
            continue;
        if (o->type == OPT_LIST)
            for (size_t i = 0; rc == 0 && i < list->len; i++)
                rc = check_line(o->name, list->item[i], is_path(o), e);
        else if ((o->type == OPT_TEXT || o->type == OPT_CHOICE) &&
                 *(const char *const *)at)
            rc = check_line(o->name, *(const char *const *)at, is_path(o), e);
    }
    for (size_t i = 0; rc == 0 && i < r->originals; i++)
        rc = check_line("tasks", r->tasks.task[i]->path, true, e);
    return rc;
}

/* ---- run.db ---- */

#define FACTS 9

/* The facts that the result depends on; they may have changed since. */
struct fact {
    const char *name, *title, *value;
};

static void list_facts(struct run *r, struct fact out[FACTS])
{
    const struct modeling_values *m = &r->set->model;
    const char *length =
        arena_printf(&r->memory, "%lld", (long long)m->max_tokens);
    const struct fact all[FACTS] = {
        {"method", "--method", r->set->method},
        {"dsl", "--dsl", r->pack->id},
        {"precision", "--precision", r->opt.precision},
        {"device", "--device", r->set->verify.device},
        {"model", "the model", m->model ? m->model : ""},
        {"temperature", "--temperature", m->temperature},
        {"max_tokens", "--max-tokens", length},
        {"effort", "--effort", m->effort ? m->effort : ""},
        {"extra_body", "--extra-body", m->extra ? m->extra : ""},
    };

    memcpy(out, all, sizeof(all));
}

static void set_number(struct store *s, const char *name, int64_t value)
{
    char text[32];

    snprintf(text, sizeof(text), "%lld", (long long)value);
    store_set(s, name, text);
}

/* "attempts" is stored last: if it is there, all are. */
static int put_facts(struct run *r, struct err *e)
{
    const struct run_settings *s = r->set;
    struct fact fact[FACTS];

    list_facts(r, fact);
    store_set(r->store, "secret", r->secret);
    run_tasks_keep(r);
    store_set(r->store, "pack_hash", r->pack->hash);
    set_number(r->store, "rules", VERDICT_RULES);
    store_set(r->store, "provider", r->model.opts.provider);
    for (size_t i = 0; i < FACTS; i++)
        store_set(r->store, fact[i].name, fact[i].value);
    set_number(r->store, "seed", s->seed);
    set_number(r->store, "attempts", s->attempts);
    return store_sync(r->store, e);
}

/* Test inputs are made from the run's secret, so that nobody knows them before
 * it begins. A strict replay repeats a run, so it takes the recorded one. */
static int choose_secret(struct run *r, struct err *e)
{
    const struct modeling_values *m = &r->set->model;
    int rc = 0;

    if (m->cassette && m->replay_strict)
        rc = cassette_secret(m->cassette, r->secret, e);
    if (rc == 0)
        return hash_secret_hex(r->secret, e);
    if (rc > 0)
        log_info("test inputs are those of the recorded run: its verdicts "
                 "are repetitions, not new evidence");
    return rc < 0 ? -1 : 0;
}

static int begin_store(struct run *r, const char *file, struct err *e)
{
    r->store = store_open(file, STORE_NEW, r->loop, e);
    if (!r->store || choose_secret(r, e) < 0)
        return -1;
    return put_facts(r, e);
}

/* A run that ended while it stored its facts starts now. */
static int take_facts(struct run *r, struct buf *b, struct err *e)
{
    int rc = store_get(r->store, "secret", b, e);

    if (rc == 1)
        snprintf(r->secret, sizeof(r->secret), "%s", buf_str(b));
    if (rc < 0 || (rc == 0 && choose_secret(r, e) < 0))
        return -1;
    buf_reset(b);
    rc = store_get(r->store, "attempts", b, e);
    if (rc < 0 || (rc == 0 && put_facts(r, e) < 0))
        return -1;
    buf_reset(b);
    return store_get(r->store, "pack_hash", b, e) == 1 ? 0 : -1;
}

static int warn_of_facts(struct run *r, struct err *e)
{
    struct fact fact[FACTS];
    struct buf was = BUF_INIT;
    int rc = 0;

    list_facts(r, fact);
    for (size_t i = 0; rc >= 0 && i < FACTS; i++) {
        buf_reset(&was);
        rc = store_get(r->store, fact[i].name, &was, e);
        if (rc == 1 && strcmp(buf_str(&was), fact[i].value) != 0)
            log_warn("the run began with %s '%s'; with '%s' it continues "
                     "differently from an uninterrupted run",
                     fact[i].title, buf_str(&was), fact[i].value);
    }
    buf_release(&was);
    return rc < 0 ? -1 : 0;
}

/* Verdicts decide what is asked next: judged by other rules, the run would have
 * taken another way. So a run has verdicts of one version. */
static int check_rules(struct run *r, struct err *e)
{
    const char *dir = r->set->out;
    char now[16];
    struct buf was = BUF_INIT;
    int rc;

    snprintf(now, sizeof(now), "%d", VERDICT_RULES);
    rc = store_get(r->store, "rules", &was, e);
    if (rc == 0 || (rc == 1 && strcmp(buf_str(&was), now) != 0))
        rc =
            err_set(e, ERR_INPUT,
                    "%s: its verdicts follow version %s of the rules of truth, "
                    "this program judges by version %s, and a run does not "
                    "mix them; 'monkeys archive reverify %s' judges its "
                    "kernels again, and 'monkeys run' starts another run",
                    dir, rc ? buf_str(&was) : "1", now, dir);
    buf_release(&was);
    return rc < 0 ? -1 : 0;
}

static int open_store(struct run *r, const char *file, struct err *e)
{
    struct buf b = BUF_INIT;
    int rc;

    r->store = store_open(file, STORE_OPEN, r->loop, e);
    if (!r->store || run_tasks_recall(r, e) < 0)
        return -1;
    rc = take_facts(r, &b, e);
    if (rc == 0 && strcmp(buf_str(&b), r->pack->hash) != 0)
        log_warn("the pack %s has changed since the run began; the run "
                 "continues differently from an uninterrupted run",
                 r->pack->id);
    buf_release(&b);
    if (rc < 0 || check_rules(r, e) < 0 || warn_of_facts(r, e) < 0 ||
        run_examples_recall(r, e) < 0)
        return -1;
    make_absolute(r);
    return 0;
}

/* Open requests can only be answered in the folder that they were put into. */
static int lose_calls(struct run *r, struct err *e)
{
    const char *before = r->set->spool_before, *now = r->set->model.spool;

    if (before && now && strcmp(before, now) == 0)
        return 0;
    return ledger_lose(r->store, e);
}

int run_folder_keep(struct run *r, struct err *e)
{
    return lose_calls(r, e) < 0 ? -1 : write_ini(r, e);
}

/* ---- the folder ---- */

static int make_dir(struct run *r, struct err *e)
{
    r->made_dir = !fs_is_dir(r->set->out);
    if (fs_mkdirs(r->set->out, e) == 0)
        return 0;
    return err_wrap(e, "--out");
}

static int holds_a_run(const struct run *r, struct err *e)
{
    return err_set(e, ERR_INPUT,
                   "%s holds a run already: 'monkeys resume %s' continues it, "
                   "--out DIR starts another",
                   r->set->out, r->set->out);
}

/* Under the lock. */
static int begin_run(struct run *r, const char *file, struct err *e)
{
    if (fs_is_file(file)) /* another process was faster */
        return holds_a_run(r, e);
    r->made = true;
    make_absolute(r);
    return write_ini(r, e) < 0 ? -1 : begin_store(r, file, e);
}

void run_folder_undo(const struct run *r)
{
    static const char *const names[] = {"run.ini", "run.db-wal", "run.db-shm",
                                        "run.db", "lock"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char *path = fs_join(r->set->out, names[i]);

        unlink(path);
        free(path);
    }
    if (r->divided) {
        char *path = fs_join(r->set->out, RUN_CURRICULUM);

        fs_remove_tree(path);
        free(path);
    }
    if (r->made_dir)
        rmdir(r->set->out);
}

int run_folder_open(struct run *r, struct err *e)
{
    char *file;
    int rc = -1;

    if (!r->set->out)
        r->set->out =
            arena_printf(&r->memory, "run-%s-%s", r->pack->id, r->set->method);
    file = fs_join(r->set->out, "run.db");
    if (r->resume && !fs_is_file(file))
        err_set(e, ERR_INPUT, "%s: not a run (run.db is missing)", r->set->out);
    else if (!r->resume && fs_is_file(file))
        holds_a_run(r, e);
    else if (check_lines(r, e) == 0 && make_dir(r, e) == 0 &&
             lock_take(r->set->out, &r->lock, e) == 0)
        rc = r->resume ? open_store(r, file, e) : begin_run(r, file, e);
    free(file);
    return rc;
}
