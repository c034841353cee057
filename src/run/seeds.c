/* seeds.c: seeds as candidates, and what is known of them then. */
#include "run/seeds.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/tick.h"
#include "io/term.h"
#include "pack/pack.h"
#include "run/kernel.h"
#include "verify/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct seed_trial {
    struct seeds *s;
    const struct pack_seed *seed;
    const char *precision;
    json_t *record; /* NULL: no answer yet */
};

/* ---- what to ask ---- */

/* Each word once, in the order given. */
static int seeds_add_precision(struct str word, const char **list, size_t *len,
                               struct err *e)
{
    char *name = xstrndup(word.p, word.n);
    enum precision p = precision_of(name);
    int rc = 0;

    if (p == PRECISIONS)
        rc =
            err_set(e, ERR_USAGE,
                    "--precision: '%s' is not one of " PRECISION_CHOICES, name);
    for (size_t i = 0; rc == 0 && i < *len; i++)
        if (list[i] == precision_names[p])
            rc = 1;
    if (rc == 0)
        list[(*len)++] = precision_names[p];
    free(name);
    return rc < 0 ? -1 : 0;
}

static int seeds_read_precisions(const struct opt_list *given,
                                 const char **list, size_t *len, struct err *e)
{
    for (size_t i = 0; i < given->len; i++) {
        struct str rest = str_of(given->item[i]), word;

        while (str_cut(&rest, ',', &word))
            if (seeds_add_precision(str_trim(word), list, len, e) < 0)
                return -1;
        if (seeds_add_precision(str_trim(rest), list, len, e) < 0)
            return -1;
    }
    return 0;
}

static bool seeds_is_smuggled(const struct seed_trial *t)
{
    return t->seed == &t->s->smuggled;
}

static void seeds_add_trial(struct seeds *s, const struct pack_seed *seed,
                            const char *precision)
{
    s->trial = xgrow(s->trial, &s->cap, s->len, sizeof(*s->trial));
    s->trial[s->len++] = (struct seed_trial){s, seed, precision, NULL};
}

static void seeds_add_trials(struct seeds *s, const char *precision)
{
    if (s->pack->run.family && !s->len)
        seeds_add_trial(s, &s->smuggled, precision);
    for (size_t i = 0; i < s->pack->seed_count; i++)
        seeds_add_trial(s, &s->pack->seed[i], precision);
}

/* False when the pack cannot be verified as asked. */
static bool seeds_plan(struct seeds *s, struct verifying_values v,
                       const char *const *list, size_t n, struct problems *out)
{
    char *adapter = fs_join(s->pack->dir, "adapter.py");
    struct err e = ERR_INIT;

    if (!fs_is_file(adapter))
        problems_add(out,
                     "%s: missing; the verifier needs it, see docs/PACKS.md",
                     adapter);
    else if (!s->pack->seed_count)
        problems_add(out, "%s/seeds: there is no seed to verify; add one",
                     s->pack->dir);
    for (size_t i = 0; out->len == 0 && i < (n ? n : 1); i++) {
        const char *precision;

        v.precision = n ? list[i] : NULL;
        precision = verifying_precision(&v, s->pack, &e);
        if (precision)
            seeds_add_trials(s, precision);
        else
            problems_add(out, "%s/pack.json: /run: %s", s->pack->dir, e.text);
    }
    free(adapter);
    return out->len == 0;
}

static int seeds_by_seed(const void *a, const void *b)
{
    const struct seed_trial *x = a, *y = b;

    if (seeds_is_smuggled(x) != seeds_is_smuggled(y))
        return seeds_is_smuggled(x) - seeds_is_smuggled(y);
    if (x->seed != y->seed)
        return x->seed < y->seed ? -1 : 1;
    return (int)precision_of(x->precision) - (int)precision_of(y->precision);
}

/* ---- asking ---- */

/* The candidate gets the task and code of the seed in `dir`. */
static int seeds_ask(struct verifier *verifier, struct candidate *c,
                     const char *dir, struct verifier_answer *d, struct err *e)
{
    struct kernel k;
    int rc;

    if (kernel_read(dir, &k, e) < 0)
        return -1;
    c->task = k.task;
    c->code = k.solution;
    rc = verifier_ask(verifier, c, d, e);
    kernel_release(&k);
    return rc;
}

static int seeds_try(struct verifier *verifier, size_t item, void *arg,
                     struct err *e)
{
    struct seeds *s = arg;
    struct seed_trial *t = &s->trial[item];
    struct job_opts o = verifying_job(s->v, t->precision);
    struct candidate c = {
        .pack = s->pack, .job = &o, .unchecked = seeds_is_smuggled(t)};
    struct verifier_answer d = {0};
    int rc;

    o.gate = true;
    if (!c.unchecked)
        c.attempt = (size_t)(t->seed - c.pack->seed);
    rc = seeds_ask(verifier, &c, t->seed->dir, &d, e);
    if (rc == 0) {
        t->record = verifier_answer_record(&d);
        term_set(s->bar, ++s->done, t->seed->name);
    }
    verifier_answer_release(&d);
    return rc;
}

static int seeds_ask_all(struct seeds *s, const struct verifying_values *v,
                         const struct home *home, struct err *e)
{
    char *label = xasprintf("verifying %s", s->pack->id);
    int rc;

    s->v = v;
    s->bar = term_open(STDERR_FILENO, s->len, 0, label);
    rc = verifying_all(v, home, s->len, seeds_try, s, e);
    term_close(s->bar);
    s->bar = NULL;
    free(label);
    return rc;
}

static bool seeds_is_sound(const struct seed_trial *t)
{
    if (seeds_is_smuggled(t))
        return verdict_in(t->record) == VERDICT_COMPILE_ERROR;
    return verdict_may_join(jsn_str(t->record, "verdict"),
                            jsn_str(t->record, "evidence"));
}

/* Why it is not sound, in a line. */
static char *seeds_complaint(const struct seed_trial *t)
{
    const char *below = pack_below_e3(t->s->pack);
    char *line = verdict_line(t->record), *more;

    if (seeds_is_smuggled(t))
        more = xasprintf("a kernel that is not of the language must be a "
                         "compile_error (docs/PACKS.md), but is %s",
                         line);
    else if (verdict_in(t->record) == VERDICT_CORRECT && below)
        more = xasprintf("%s: the pack %s", line, below);
    else
        return line;
    free(line);
    return more;
}

static void seeds_add_complaints(const struct seeds *s, struct problems *out)
{
    for (size_t i = 0; i < s->len; i++) {
        const struct seed_trial *t = &s->trial[i];
        char *what;

        if (!t->record || seeds_is_sound(t))
            continue;
        what = seeds_complaint(t);
        problems_add(out, "%s/solution.py: in %s on %s: %s", t->seed->dir,
                     t->precision, s->device, what);
        free(what);
    }
}

int seeds_verify(struct seeds *s, const struct pack *p,
                 const struct seeds_opts *o, struct problems *out,
                 struct err *e)
{
    struct verifying_values v = *o->v;
    const char *list[PRECISIONS];
    size_t n = 0;

    *s = (struct seeds){.pack = p, .smuggled = {.name = "smuggled"}};
    s->smuggled.dir = xasprintf("%s/packs/common/smuggled", o->home->dir);
    if (seeds_read_precisions(o->precision, list, &n, e) < 0 ||
        verifying_choose_for(&v, p, e) < 0)
        return -1;
    s->device = v.device;
    if (!seeds_plan(s, v, list, n, out))
        return 0;
    qsort(s->trial, s->len, sizeof(*s->trial), seeds_by_seed);
    if (seeds_ask_all(s, &v, o->home, e) < 0)
        return -1;
    seeds_add_complaints(s, out);
    return 0;
}

size_t seeds_missing(const struct seeds *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->len; i++)
        n += !s->trial[i].record;
    return n;
}

void seeds_release(struct seeds *s)
{
    for (size_t i = 0; i < s->len; i++)
        json_decref(s->trial[i].record);
    free(s->trial);
    free((char *)s->smuggled.dir);
    *s = (struct seeds){0};
}

/* ---- what was found ---- */

static json_t *seeds_speedup(const json_t *record, const char *over)
{
    double x = verdict_speedup(record, over);

    return isnan(x) ? json_null() : json_real(x);
}

static json_t *seeds_build_s(const json_t *record)
{
    const json_t *ms =
        json_object_get(json_object_get(record, "times_ms"), "compile");

    return json_is_number(ms) &&
                   strcmp(jsn_str(record, "build"), "compiled") == 0
               ? json_real(json_number_value(ms) / 1000)
               : json_null();
}

static json_t *seeds_launches(const json_t *record)
{
    const json_t *n =
        json_object_get(json_object_get(record, "launches"), "count");

    return json_is_number(n) ? json_integer((json_int_t)json_number_value(n))
                             : json_null();
}

json_t *seeds_json(const struct seeds *s)
{
    json_t *list = json_array();

    for (size_t i = 0; i < s->len; i++) {
        const struct seed_trial *t = &s->trial[i];
        const json_t *r = t->record;
        char *why = r && !seeds_is_sound(t) ? seeds_complaint(t) : NULL;

        json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:s?, s:o, s:o, s:o, s:o, "
                      "s:o}",
                      "seed", t->seed->name, "precision", t->precision,
                      "device", s->device, "verdict",
                      r ? jsn_str(r, "verdict") : NULL, "evidence",
                      r && jsn_str(r, "evidence")[0] ? jsn_str(r, "evidence")
                                                     : NULL,
                      "build",
                      r && jsn_str(r, "build")[0] ? jsn_str(r, "build") : NULL,
                      "build_s", seeds_build_s(r), "speedup_eager",
                      seeds_speedup(r, "reference_ms"), "speedup_compile",
                      seeds_speedup(r, "compile_ms"), "launches",
                      seeds_launches(r), "why", jsn_of(why)));
        free(why);
    }
    return list;
}

/* ---- meta.json ---- */

/* The trials of one seed. */
struct group {
    const struct seed_trial *trial;
    size_t len;
};

/* "fp32", "bf16 and fp32": those that are sound, or those that are not. */
static void seeds_put_precisions(const struct group *g, bool sound,
                                 struct buf *out)
{
    size_t n = 0, at = 0;

    for (size_t i = 0; i < g->len; i++)
        n += seeds_is_sound(&g->trial[i]) == sound;
    for (size_t i = 0; i < g->len; i++)
        if (seeds_is_sound(&g->trial[i]) == sound) {
            buf_printf(out, "%s%s",
                       at == 0       ? ""
                       : at + 1 == n ? " and "
                                     : ", ",
                       g->trial[i].precision);
            at++;
        }
}

static void seeds_put_place(const struct group *g, struct buf *out)
{
    const json_t *env = json_object_get(g->trial->record, "environment");
    const char *machine = jsn_str(env, "machine");
    char date[DATE_SIZE];

    date_today(date);
    if (jsn_str(env, "gpu")[0])
        buf_printf(out, " on %s", jsn_str(env, "gpu"));
    else
        buf_printf(out, " on the CPU (%s)", machine[0] ? machine : "-");
    buf_printf(out, ", %s", date);
}

/* What the verdicts say in a line; true when all are sound. */
static bool seeds_describe(const struct group *g, struct buf *out)
{
    const struct seed_trial *broken = NULL;
    char *why;

    for (size_t i = 0; i < g->len && !broken; i++)
        if (!seeds_is_sound(&g->trial[i]))
            broken = &g->trial[i];
    if (!broken) {
        buf_printf(out, "correct at %s in ", evidences[EVIDENCE_ARCHIVE].name);
        seeds_put_precisions(g, true, out);
        seeds_put_place(g, out);
        return true;
    }
    why = seeds_complaint(broken);
    buf_puts(out, "in ");
    seeds_put_precisions(g, false, out);
    seeds_put_place(g, out);
    buf_printf(out, ": %s", why);
    free(why);
    return false;
}

/* Missing answers and a verifier that failed say nothing about a seed. */
static bool seeds_is_complete(const struct group *g)
{
    for (size_t i = 0; i < g->len; i++)
        if (!g->trial[i].record ||
            verdict_in(g->trial[i].record) >= VERDICT_NOT_JUDGED)
            return false;
    return true;
}

static int seeds_write_one(const struct group *g, struct err *e)
{
    const char *dir = g->trial->seed->dir;
    json_t *meta = kernel_meta(dir, e);
    struct buf text = BUF_INIT;
    bool sound;
    int rc;

    if (!meta)
        return -1;
    sound = seeds_describe(g, &text);
    json_object_del(meta, sound ? "why_not" : "verified_on");
    json_object_set_new(meta, "verified", json_boolean(sound));
    json_object_set_new(meta, sound ? "verified_on" : "why_not",
                        jsn_text(buf_str(&text), text.len));
    if (sound)
        json_object_set_new(meta, "rules", json_integer(VERDICT_RULES));
    else
        json_object_del(meta, "rules");
    rc = kernel_put_meta(dir, meta, e);
    buf_release(&text);
    json_decref(meta);
    return rc;
}

int seeds_write(const struct seeds *s, struct err *e)
{
    int written = 0;

    for (size_t i = 0; i < s->len;) {
        struct group g = {&s->trial[i], 0};

        while (i < s->len && s->trial[i].seed == g.trial->seed)
            g.len++, i++;
        if (seeds_is_smuggled(g.trial) || !seeds_is_complete(&g))
            continue;
        if (seeds_write_one(&g, e) < 0)
            return -1;
        written++;
    }
    return written;
}

/* ---- the first of each pack ---- */

#define TRIAL_MS 60000 /* a seed is small */

static const char *first_device(const struct pack *p)
{
    struct verifying_values v = VERIFYING_DEFAULTS;
    struct err ignored = ERR_INIT;

    verifying_choose_for(&v, p, &ignored);
    return verifying_precision(&v, p, &ignored) ? v.device : NULL;
}

static void first_load(struct seeds_first *t, const struct packs_path *path)
{
    struct problems problems;
    struct err e = ERR_INIT;

    problems_init(&problems);
    t->pack = pack_load(&path->path, t->dir, &problems);
    if (!t->pack) {
        problems_to_err(&problems, &e);
        t->tried = true;
        t->detail = xstrdup(e.text);
    } else {
        t->device = first_device(t->pack);
        t->tried = t->pack->seed_count && t->device;
    }
    problems_release(&problems);
}

/* The first line of the feedback is enough. */
static void first_describe(struct seeds_first *t,
                           const struct verifier_answer *d)
{
    const char *verdict = d->record ? jsn_str(d->record, "verdict")
                                    : verdicts[VERDICT_INFRA].name,
               *feedback = d->record ? jsn_str(d->record, "feedback") : d->why,
               *seed = t->pack->seed[0].name;

    t->correct = verdict_in(d->record) == VERDICT_CORRECT;
    t->detail =
        t->correct
            ? xasprintf("the seed %s is correct on %s, %s", seed, t->device,
                        jsn_str(d->record, "evidence"))
            : xasprintf("the seed %s is %s on %s: %.*s", seed, verdict,
                        t->device, (int)strcspn(feedback, "\n"), feedback);
}

/* The trials of one device, which share a worker. */
struct firsts {
    const char *device;
    struct seeds_first *first;
};

static bool first_is_on(const struct seeds_first *t, const char *device)
{
    return t->tried && t->pack && strcmp(t->device, device) == 0;
}

static int first_try(struct verifier *verifier, size_t item, void *arg,
                     struct err *e)
{
    struct firsts *s = arg;
    struct seeds_first *t = &s->first[item];
    struct job_opts o = {.device = s->device,
                         .precision = precision_names[PRECISION_FP32],
                         .protocol = "hardened",
                         .whole_ms = TRIAL_MS};
    struct candidate c = {.pack = t->pack, .job = &o};
    struct verifier_answer d = {0};
    int rc;

    if (!first_is_on(t, s->device))
        return 0;
    if (!(t->pack->run.dtypes & 1u << PRECISION_FP32))
        o.precision = precision_names[t->pack->run.default_dtype];
    rc = seeds_ask(verifier, &c, t->pack->seed[0].dir, &d, e);
    if (rc == 0)
        first_describe(t, &d);
    verifier_answer_release(&d);
    return rc;
}

static int first_try_on(const char *device, const struct home *home,
                        const struct opt_list *given, struct seeds_first *first,
                        size_t n, struct err *e)
{
    struct verifying_values v = VERIFYING_DEFAULTS;
    struct firsts s = {.device = device, .first = first};

    v.device = device;
    v.packs = *given;
    return verifying_all(&v, home, n, first_try, &s, e);
}

int seeds_try_first(const struct home *home, const struct opt_list *given,
                    struct seeds_first *first, size_t n, struct err *e)
{
    static const char *const devices[] = {"cpu", "cuda:0"};
    struct packs_path path;
    int rc = 0;

    packs_path_init(&path, given, home);
    for (size_t i = 0; i < n; i++)
        first_load(&first[i], &path);
    for (size_t d = 0; rc == 0 && d < 2; d++) {
        bool any = false;

        for (size_t i = 0; i < n; i++)
            any = any || first_is_on(&first[i], devices[d]);
        if (any)
            rc = first_try_on(devices[d], home, given, first, n, e);
    }
    for (size_t i = 0; i < n; i++)
        pack_free(first[i].pack);
    packs_path_release(&path);
    return rc;
}
