/* cmd_doctor.c: monkeys doctor: what this machine can do, each row tried for
 * real, and whether a run would work here: what a verdict finds decides. */
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "io/proc.h"
#include "pack/pack.h"
#include "run/seeds.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <curl/curl.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <utf8proc.h>

struct doctor_values {
    bool json;
    struct opt_list dsl, packs;
};

#define VALUES struct doctor_values
static const struct opt doctor_table[] = {
    {"json", 0, OPT_FLAG, NULL, "print one JSON object per row", AT(json)},
    {"dsl", 0, OPT_LIST, "ID",
     "try the pack ID alone (may be repeated); default: every pack", AT(dsl)},
    {"packs", 0, OPT_LIST, "DIR", PACKS_HELP, AT(packs)},
    {0},
};

struct row {
    char *name, *detail;
    const char *state; /* "yes", "no", or a pack's level */
};

struct doctor {
    const struct home *home;
    struct pack_list packs;
    struct row *row;
    size_t len, cap;
    bool has_torch, has_box;
    struct seeds_first *trial; /* of the packs that reach the level "run" */
    size_t trials;
    bool works;
};

/* Takes `name` and `detail`. */
// NOLINTNEXTLINE(readability-non-const-parameter): they are freed in doctor_run()
static void doctor_add(struct doctor *d, char *name, const char *state,
                       char *detail)
{
    d->row = xgrow(d->row, &d->cap, d->len, sizeof(*d->row));
    d->row[d->len++] = (struct row){name, detail, state};
}

static void doctor_add_libraries(struct doctor *d)
{
    char pcre2[64] = "?";
    int jit = 0;

    pcre2_config(PCRE2_CONFIG_VERSION, pcre2);
    pcre2_config(PCRE2_CONFIG_JIT, &jit);
    doctor_add(d, xstrdup("libraries"), "yes",
               xasprintf("libcurl %s, jansson %s, PCRE2 %s%s, utf8proc %s",
                         curl_version_info(CURLVERSION_NOW)->version,
                         jansson_version_str(), pcre2, jit ? " with JIT" : "",
                         utf8proc_version()));
}

/* ---- Python ---- */

static void doctor_no_python(struct doctor *d, const char *why)
{
    doctor_add(d, xstrdup("python"), "no",
               xasprintf("%s: %s; run ./setup run, or set MONKEYS_PYTHON",
                         d->home->python, why));
}

static const char *doctor_text(const json_t *facts, const char *key)
{
    const char *s = jsn_maybe(facts, key);

    return s ? s : "none";
}

static void doctor_add_torch(struct doctor *d, const json_t *facts)
{
    const json_t *gpus = json_object_get(facts, "gpus");
    const char *broken = jsn_maybe(facts, "torch_error");

    d->has_torch = !broken;
    if (broken)
        doctor_add(
            d, xstrdup("torch"), "no",
            xasprintf("%s; run ./setup run, or set MONKEYS_PYTHON", broken));
    else
        doctor_add(
            d, xstrdup("torch"), "yes",
            xasprintf("%s, CUDA %s, numpy %s", doctor_text(facts, "torch"),
                      doctor_text(facts, "cuda"), doctor_text(facts, "numpy")));
    if (json_array_size(gpus))
        doctor_add(d, xstrdup("gpu"), "yes",
                   xasprintf("%zu x %s", json_array_size(gpus),
                             json_string_value(json_array_get(gpus, 0))));
    else
        doctor_add(d, xstrdup("gpu"), "no",
                   xstrdup("none: packs that support it run on the CPU"));
}

static void doctor_add_python(struct doctor *d, const struct procs_item *ran)
{
    const struct proc_result *r = &ran->result;
    struct err e = ERR_INIT;
    json_t *facts;

    if (ran->failed.kind != ERR_NONE || r->timed_out || r->exit_code != 0) {
        doctor_no_python(d, ran->failed.kind != ERR_NONE ? ran->failed.text
                            : r->timed_out ? "did not answer in time"
                                           : "failed to start");
        return;
    }
    facts = jsn_parse("worker/probe.py", buf_str(&r->out), r->out.len, &e);
    if (!facts) {
        doctor_no_python(d, e.text);
        return;
    }
    doctor_add(d, xstrdup("python"), "yes",
               xasprintf("%s at %s", doctor_text(facts, "python"),
                         doctor_text(facts, "executable")));
    doctor_add_torch(d, facts);
    json_decref(facts);
}

/* ---- the sandbox ---- */

static void doctor_add_sandbox(struct doctor *d, const struct procs_item *ran)
{
    struct str rest = buf_view(&ran->result.out), line;
    bool namespaces = false, landlock = false, seccomp = false;

    if (ran->failed.kind != ERR_NONE || ran->result.exit_code != 0) {
        doctor_add(d, xstrdup("sandbox"), "no",
                   xasprintf("%s cannot be run; build it with 'make'",
                             d->home->worker));
        return;
    }
    while (str_cut(&rest, '\n', &line)) {
        struct str name, state;
        bool yes;

        if (!str_cut(&line, ' ', &name) || !str_cut(&line, ' ', &state))
            continue;
        yes = str_eq(state, "yes");
        namespaces = namespaces || (yes && str_eq(name, "namespaces"));
        landlock = landlock || (yes && str_eq(name, "landlock"));
        seccomp = seccomp || (yes && str_eq(name, "seccomp"));
        doctor_add(d, xstrndup(name.p, name.n), yes ? "yes" : "no",
                   xstrndup(line.p, line.n));
    }
    d->has_box = seccomp && (namespaces || landlock);
    doctor_add(d, xstrdup("sandbox"), d->has_box ? "yes" : "no",
               xstrdup(d->has_box && namespaces ? "full: namespaces and filters"
                       : d->has_box
                           ? "thin: Landlock and seccomp without namespaces"
                           : "neither namespaces nor Landlock: candidates "
                             "would run unprotected"));
}

/* ---- packs ---- */

static void doctor_add_packs(struct doctor *d, const struct pack_probe *probe)
{
    d->trial = xcalloc(d->packs.len + 1, sizeof(*d->trial));
    for (size_t i = 0; i < d->packs.len; i++) {
        if (probe[i].level == PACK_PROBE_RUN)
            d->trial[d->trials++].dir = d->packs.item[i].dir;
        doctor_add(d, xasprintf("pack %s", d->packs.item[i].id),
                   pack_probe_levels[probe[i].level], probe[i].why);
    }
}

/* ---- what a verdict finds ---- */

/* Other rows show the parts; only a verdict shows that they work together. */
static void doctor_conclude(struct doctor *d, size_t tried, size_t correct)
{
    const char *why = tried && correct == tried ? NULL
                      : !d->has_torch           ? "no Python with torch"
                      : !d->has_box             ? "no sandbox"
                      : !d->trials ? "no pack reaches the level 'run'"
                      : !tried
                          ? "no pack that can run here has a seed to try"
                          : "a correct kernel was not accepted (see above)";

    d->works = !why;
    doctor_add(d, xstrdup("a run"), why ? "no" : "yes",
               xstrdup(why ? why : "would work on this machine"));
}

static int doctor_add_verdicts(struct doctor *d, const struct opt_list *given,
                               struct err *e)
{
    size_t tried = 0, correct = 0;

    if (seeds_try_first(d->home, given, d->trial, d->trials, e) < 0)
        return -1;
    for (size_t i = 0; i < d->trials; i++) {
        struct seeds_first *t = &d->trial[i];

        if (!t->tried)
            continue;
        tried++;
        correct += t->correct;
        doctor_add(d, xasprintf("verdict %s", fs_base(t->dir)),
                   t->correct ? "yes" : "no",
                   t->detail ? t->detail : xstrdup("no answer"));
    }
    doctor_conclude(d, tried, correct);
    return 0;
}

/* The worker, the Python side and each pack, probed side by side. */
static int doctor_probe(struct doctor *d, struct err *e)
{
    char *script = fs_join(d->home->dir, "worker/probe.py");
    const char *worker[] = {d->home->worker, "--probe", NULL},
               *python[] = {d->home->python, "-B", script, NULL};
    struct procs_item own[2] = {0}; /* the worker, then Python */
    struct pack_probe *probe = xcalloc(d->packs.len + 1, sizeof(*probe));
    int rc;

    for (size_t i = 0; i < 2; i++)
        own[i].opts = (struct proc_opts){.argv = i ? python : worker,
                                         .out_limit = 65536,
                                         .err_limit = 65536,
                                         .timeout_ns = PACK_PROBE_NS};
    rc = packs_probe(&(struct pack_probes){.home = d->home,
                                           .packs = &d->packs,
                                           .label = "probing",
                                           .beside = own,
                                           .besides = 2},
                     probe, e);
    if (rc == 0) {
        doctor_add_python(d, &own[1]);
        doctor_add_sandbox(d, &own[0]);
        doctor_add_packs(d, probe);
    }
    for (size_t i = 0; i < 2; i++)
        proc_result_release(&own[i].result);
    free(probe);
    free(script);
    return rc;
}

static void doctor_print(const struct doctor *d, bool as_json)
{
    for (size_t i = 0; i < d->len; i++) {
        const struct row *r = &d->row[i];

        if (as_json)
            jsn_line(json_pack("{s:s, s:s, s:o}", "name", r->name, "state",
                               r->state, "detail", jsn_of(r->detail)));
        else
            printf("%-20s %-8s %s\n", r->name, r->state, r->detail);
    }
}

static int doctor_run(struct cmd_call *call, struct err *e)
{
    const struct doctor_values *v = call->values;
    const struct packs_path *path;
    struct doctor d = {0};
    int rc = -1;

    if (call->r.rest_len)
        return err_set(e, ERR_USAGE, "'%s' is not expected here",
                       call->r.rest[0]);
    path = cmd_packs(call, &v->packs, e);
    d.home = cmd_home(call, e);
    if (path &&
        packs_named(&path->path, v->dsl.item, v->dsl.len, &d.packs, e) == 0) {
        doctor_add_libraries(&d);
        rc = doctor_probe(&d, e);
        if (rc == 0)
            rc = doctor_add_verdicts(&d, &v->packs, e);
    }
    if (rc == 0) {
        doctor_print(&d, v->json);
        rc = d.works ? 0 : 1;
    }
    for (size_t i = 0; i < d.len; i++) {
        free(d.row[i].name);
        free(d.row[i].detail);
    }
    free(d.row);
    free(d.trial);
    pack_list_release(&d.packs);
    return rc;
}

const struct cmd cmd_doctor = {
    "doctor",
    "",
    "show what this machine can do",
    "Prints a row for each capability: libraries, Python, torch, GPU,\n"
    "sandbox, and what each pack can do here: checks (rules only), compile,\n"
    "or run. Everything is actually tried: the first seed of each pack that\n"
    "can run is verified like any candidate. The exit status is 0 only if a\n"
    "run would work, that is, if all these verdicts are correct.",
    doctor_table,
    doctor_run,
    sizeof(struct doctor_values),
    NULL,
};
