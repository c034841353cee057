/* cmd_verify.c: monkeys verify: the whole verifier on candidates. */
#include "base/fs.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "io/term.h"
#include "pack/pack.h"
#include "source/task.h"
#include "verify/verdict.h"
#include "verify/verifying.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_CANDIDATE ((size_t)8 << 20)

struct verify_values {
    struct verifying_values v;
    struct opt_list define, tasks;
    const char *dsl, *task, *list;
    bool no_gate, trace;
};

#define VALUES struct verify_values
static const struct opt verify_table[] = {
    {"dsl", 0, OPT_TEXT, "ID", "the pack (required)", AT(dsl)},
    {"task", 0, OPT_TEXT, "TASK",
     "the task: a file, or COLLECTION/NAME of one that comes with the program",
     AT(task)},
    {"list", 0, OPT_TEXT, "FILE",
     "verify many candidates: each line of FILE is a task, a space and a "
     "candidate's file, or {\"task\": …, \"file\": …}; paths are relative to "
     "FILE",
     AT(list)},
    {"tasks", 0, OPT_LIST, "PATH",
     "verify many candidates: each FILE, and each .py in a FILE that is a "
     "folder, is for the task of that name in PATH: files, folders, or a "
     "collection that comes with the program; may be repeated",
     AT(tasks)},
    DEFINE_OPTION(VALUES, define),
    VERIFYING_OPTION(
        "protocol", OPT_CHOICE, "hardened|kernelbench",
        "which check decides; both are reported (default: hardened)", protocol,
        0, 0),
    VERIFYING_OPTION("no-timing", OPT_FLAG, NULL,
                     "do not measure the speed of correct kernels", no_timing,
                     0, 0),
    {"no-gate", 0, OPT_FLAG, NULL,
     "also judge candidates for tasks that 'tasks check' refuses", AT(no_gate)},
    {"trace", 0, OPT_FLAG, NULL,
     "also show what each call does: its kernels, grids, launches, copies, and "
     "the least number of bytes that it reads and writes",
     AT(trace)},
    VERIFYING_OPTION("timeout", OPT_INT, "SECONDS",
                     "limit for one call of forward (default: the pack's)",
                     call_s, 1, 3600),
    VERIFYING_OPTION("memory", OPT_INT, "BYTES",
                     "limit for a candidate's process, also of GPU memory "
                     "(default: 8 GiB on "
                     "the CPU)",
                     memory, 0, INT64_MAX),
    VERIFYING_OPTIONS,
    {0},
};

struct item {
    char *task_path, *file;
    struct task *task; /* borrowed from `tasks` */
    json_t *record;    /* NULL: no answer yet */
};

struct verify {
    struct cmd_call *call;
    const struct verify_values *v;
    struct job_opts job;
    const struct pack *pack;
    struct collection tasks;
    struct item *item;
    size_t len, cap, shown, done;
    bool proven; /* some record has evidence */
    int status;  /* the worst of the records' */
    struct term *bar;
};

/* ---- what to verify ---- */

static void verify_add(struct verify *f, struct str task, struct str file)
{
    f->item = xgrow(f->item, &f->cap, f->len, sizeof(*f->item));
    f->item[f->len++] = (struct item){xstrndup(task.p, task.n),
                                      xstrndup(file.p, file.n), NULL, NULL};
}

/* A path in a list is relative to the list's own folder. */
static char *verify_beside(const char *list, struct str path)
{
    const char *slash = strrchr(list, '/');

    if (!slash || path.p[0] == '/')
        return xstrndup(path.p, path.n);
    return xasprintf("%.*s/%.*s", (int)(slash - list), list, (int)path.n,
                     path.p);
}

/* A task may also be one that comes with the program. Its id is made from its
 * path, so that must not have '..' in it. */
static void verify_add_pair(struct verify *f, const char *list, struct str task,
                            struct str file)
{
    char *a = verify_beside(list, task), *b = verify_beside(list, file),
         *path = fs_is_file(a) ? realpath(a, NULL) : NULL;

    verify_add(f, path ? str_of(path) : task, str_of(b));
    free(path);
    free(a);
    free(b);
}

/* The two words of a line. They are borrowed: from the line, or from `*json`. */
static int verify_read_pair(struct str line, const char *path, int number,
                            struct str *task, struct str *file, json_t **json,
                            struct err *e)
{
    *json = NULL;
    if (line.p[0] == '{') {
        *json = jsn_parse_part(path, (size_t)number, line.p, line.n, e);
        if (!*json)
            return -1;
        *task = str_of(jsn_str(*json, "task"));
        *file = str_of(jsn_str(*json, "file"));
    } else if (str_cut(&line, ' ', task) || str_cut(&line, '\t', task)) {
        *file = str_trim(line);
    } else {
        *file = (struct str){"", 0};
    }
    if (file->n && task->n)
        return 0;
    json_decref(*json);
    return err_set(e, ERR_INPUT,
                   "%s:%d: not a pair: write TASK FILE, or "
                   "{\"task\": \"…\", \"file\": \"…\"}",
                   path, number);
}

static int verify_read_list(struct verify *f, const char *path, struct err *e)
{
    struct buf text = {.limit = (size_t)16 << 20};
    struct str rest, line, task, file;
    int number = 0, rc;
    json_t *json;

    rc = fs_read(path, &text, e);
    rest = buf_view(&text);
    while (rc == 0 && str_part(&rest, '\n', &line)) {
        line = str_trim(line);
        number++;
        if (line.n == 0 || line.p[0] == '#')
            continue;
        rc = verify_read_pair(line, path, number, &task, &file, &json, e);
        if (rc == 0) {
            verify_add_pair(f, path, task, file);
            json_decref(json);
        }
    }
    if (rc == 0 && f->len == 0)
        rc = err_set(e, ERR_INPUT, "%s: it has no pairs", path);
    buf_release(&text);
    return rc;
}

static struct task *verify_find_task(struct verify *f, const char *path)
{
    for (size_t i = 0; i < f->tasks.len; i++)
        if (strcmp(f->tasks.task[i]->path, path) == 0)
            return f->tasks.task[i];
    return NULL;
}

static int verify_load_tasks(struct verify *f, struct err *e)
{
    for (size_t i = 0; i < f->len; i++) {
        char *path = cmd_task_path(f->call, f->item[i].task_path, e);
        struct task *t = path ? verify_find_task(f, path) : NULL;

        if (path && !t && (t = task_load(path, e))) {
            f->tasks.task = xgrow(f->tasks.task, &f->tasks.cap, f->tasks.len,
                                  sizeof(*f->tasks.task));
            f->tasks.task[f->tasks.len++] = t;
        }
        free(path);
        if (!t)
            return -1;
        f->item[i].task = t;
    }
    return define_tasks(&f->tasks, &f->v->define, e);
}

/* ---- candidates that have the names of their tasks ---- */

/* Of the tasks that were given. Two of one name in different folders are one too
 * many. */
static int verify_add_named(struct verify *f, const char *file, struct err *e)
{
    const struct task *found = NULL;

    for (size_t i = 0; i < f->tasks.len; i++) {
        const struct task *t = f->tasks.task[i];

        if (strcmp(fs_base(t->path), fs_base(file)) != 0)
            continue;
        if (found)
            return err_set(e, ERR_INPUT,
                           "%s: %s and %s have its name; give only one of "
                           "them as --tasks",
                           file, found->id, t->id);
        found = t;
    }
    if (!found)
        return err_set(e, ERR_INPUT,
                       "%s: no task of --tasks has this name; rename the file "
                       "like its task, or name both in --list",
                       file);
    verify_add(f, str_of(found->path), str_of(file));
    return 0;
}

static int verify_add_folder(struct verify *f, const char *dir, struct err *e)
{
    struct fs_names names = {0};
    int rc = fs_list(dir, false, &names, e);

    for (size_t i = 0; i < names.len && rc == 0; i++) {
        char *file = fs_join(dir, names.name[i]);

        if (str_ends(str_of(file), ".py"))
            rc = verify_add_named(f, file, e);
        free(file);
    }
    fs_names_release(&names);
    return rc;
}

static int verify_gather_named(struct verify *f, const struct opt_result *r,
                               struct err *e)
{
    const struct opt_list *tasks = &f->v->tasks;
    int rc = cmd_collect(f->call, tasks->item, tasks->len, false, &f->tasks, e);

    for (size_t i = 0; i < r->rest_len && rc == 0; i++)
        rc = fs_is_dir(r->rest[i]) ? verify_add_folder(f, r->rest[i], e)
                                   : verify_add_named(f, r->rest[i], e);
    if (rc == 0 && f->len == 0)
        return err_set(e, ERR_INPUT, "%s: there is no .py file", r->rest[0]);
    return rc;
}

static int verify_gather(struct verify *f, const struct opt_result *r,
                         struct err *e)
{
    const struct verify_values *v = f->v;

    if ((v->list != NULL) + (v->task != NULL) + (v->tasks.len > 0) != 1 ||
        (v->list != NULL) != (r->rest_len == 0))
        return err_set(e, ERR_USAGE,
                       "give --task TASK FILE…, or --tasks PATH FILE…, or "
                       "--list FILE alone");
    if (v->list && verify_read_list(f, v->list, e) < 0)
        return -1;
    if (v->tasks.len && verify_gather_named(f, r, e) < 0)
        return -1;
    for (size_t i = 0; v->task && i < r->rest_len; i++)
        verify_add(f, str_of(v->task), str_of(r->rest[i]));
    return verify_load_tasks(f, e);
}

/* ---- answers ---- */

static void verify_print_json(const struct item *it, bool trace)
{
    json_t *line = json_pack("{s:o, s:s, s:b}", "file", jsn_of(it->file),
                             "task", it->task->id, "accepted",
                             verdict_in(it->record) == VERDICT_CORRECT);

    json_object_update(line, it->record);
    if (!trace)
        json_object_del(line, "trace");
    jsn_line(line);
}

static void verify_print_trace(const struct item *it)
{
    struct buf b = BUF_INIT;

    verdict_put_trace(json_object_get(it->record, "trace"), &b);
    fputs(buf_str(&b), stdout);
    buf_release(&b);
}

static void verify_print_indented(const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");

        printf("%s%.*s\n", n ? "    " : "", (int)n, text);
        text += n + (text[n] == '\n');
    }
}

/* Changed inputs that were not tried, and why. */
static void verify_print_skipped(const struct item *it)
{
    const char *name;
    json_t *why;

    json_object_foreach(json_object_get(it->record, "skipped"), name, why)
        printf("    no trial '%s': %s\n", name, json_string_value(why));
}

/* The time of a call, and of the reference where it was measured. */
static void verify_print_times(const json_t *record)
{
    static const struct {
        const char *key, *name;
    } references[] = {{"reference_ms", "PyTorch"},
                      {"compile_ms", "torch.compile"}};
    double ms = verdict_ms(record, "ms");

    if (!(ms > 0))
        return;
    printf(", %.4g ms", ms);
    for (size_t i = 0; i < sizeof(references) / sizeof(*references); i++)
        if (verdict_ms(record, references[i].key) > 0)
            printf(", %.2f times as fast as %s (%.4g ms)",
                   verdict_speedup(record, references[i].key),
                   references[i].name, verdict_ms(record, references[i].key));
}

static void verify_print(const struct item *it, bool trace)
{
    const json_t *slice = json_object_get(it->record, "slice_ratio");
    const char *rule = jsn_str(it->record, "rule");

    printf("%s: %s", it->file, jsn_str(it->record, "verdict"));
    if (rule[0])
        printf(" (%s)", rule);
    if (jsn_str(it->record, "evidence")[0])
        printf(", %s", jsn_str(it->record, "evidence"));
    if (jsn_true(it->record, "kernelbench_pass"))
        printf(", passes KernelBench's check");
    if (json_is_number(slice))
        printf(", error ratio %.2g in the worst slice",
               json_number_value(slice));
    verify_print_times(it->record);
    putchar('\n');
    if (jsn_str(it->record, "infra")[0])
        verify_print_indented(jsn_str(it->record, "infra"));
    else
        verify_print_indented(jsn_str(it->record, "feedback"));
    verify_print_skipped(it);
    if (trace)
        verify_print_trace(it);
}

/* Items are shown in the order they were given. */
static void verify_show_ready(struct verify *f)
{
    while (f->shown < f->len && f->item[f->shown].record) {
        const struct item *it = &f->item[f->shown++];

        term_hide(f->bar);
        if (f->v->v.json)
            verify_print_json(it, f->v->trace);
        else
            verify_print(it, f->v->trace);
    }
    cmd_flush();
}

static void verify_settle(struct verify *f, struct item *it, json_t *record)
{
    enum verdict v = verdict_in(record);
    int status = verdicts[v == VERDICT_UNKNOWN ? VERDICT_INFRA : v].exit_status;

    it->record = record;
    if (status > f->status)
        f->status = status;
    f->proven = f->proven || jsn_str(record, "evidence")[0];
    f->done++;
    verify_show_ready(f);
    term_set(f->bar, f->done, NULL);
}

/* ---- asking ---- */

static int verify_one(struct verifier *verifier, size_t item, void *arg,
                      struct err *e)
{
    struct verify *f = arg;
    struct item *it = &f->item[item];
    struct candidate c = {
        .pack = f->pack, .task = it->task, .attempt = item, .job = &f->job};
    struct verifier_answer d = {0};
    struct buf text = {.limit = MAX_CANDIDATE};
    int rc;

    rc = fs_read(it->file, &text, e);
    c.code = buf_view(&text);
    if (rc == 0)
        rc = verifier_ask(verifier, &c, &d, e);
    buf_release(&text);
    if (rc == 0)
        verify_settle(f, it, verifier_answer_record(&d));
    verifier_answer_release(&d);
    return rc;
}

static int verify_ask_all(struct verify *f, const char *precision,
                          struct err *e)
{
    int rc;

    f->job = verifying_job(&f->v->v, precision);
    f->job.gate = !f->v->no_gate;
    f->bar = term_open(STDERR_FILENO, f->len, 0, "verifying");
    rc =
        verifying_all(&f->v->v, cmd_home(f->call, e), f->len, verify_one, f, e);
    if (f->done < f->len)
        f->status = verdicts[VERDICT_INFRA].exit_status;
    term_close(f->bar);
    f->bar = NULL;
    return rc;
}

static int verify_all(struct verify *f, struct err *e)
{
    const char *precision;
    struct buf b = BUF_INIT;

    f->pack = cmd_pack(f->call, &f->v->v.packs, f->v->dsl, e);
    if (!f->pack || verify_gather(f, &f->call->r, e) < 0)
        return -1;
    precision = verifying_precision(&f->v->v, f->pack, e);
    if (!precision || verify_ask_all(f, precision, e) < 0)
        return -1;
    if (f->proven && !f->v->v.json) {
        evidence_explain(&b);
        fputs(buf_str(&b), stdout);
        buf_release(&b);
    }
    return f->status;
}

static int verify_run(struct cmd_call *call, struct err *e)
{
    struct verify_values *v = call->values;
    struct verify f = {.call = call, .v = v};
    int rc = verifying_choose_device(&v->v, e) < 0 ? -1 : verify_all(&f, e);

    for (size_t i = 0; i < f.len; i++) {
        free(f.item[i].task_path);
        free(f.item[i].file);
        json_decref(f.item[i].record);
    }
    free(f.item);
    collection_release(&f.tasks);
    return rc;
}

static const struct verify_values verify_defaults = {.v = VERIFYING_DEFAULTS};

const struct cmd cmd_verify = {
    "verify",
    "[FILE...]",
    "decide whether candidates are correct",
    "Each candidate must pass the static rules. Then it runs in a sandbox\n"
    "against its task: five trials with fresh inputs, and some with changed\n"
    "ones. A process that the candidate cannot reach compares the outputs.\n"
    "Exit status: 0 if all are correct, 1 if at least one is not, 4 if at "
    "least\n"
    "one has no verdict (the verifier failed, the task cannot be judged, or "
    "the\n"
    "answer from another host is still missing).",
    verify_table,
    verify_run,
    sizeof(struct verify_values),
    &verify_defaults,
};
