/* cmd_pack.c: monkeys pack list, check, new. */
#include "analyze/table.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "pack/pack.h"
#include "run/seeds.h"
#include "verify/selftest.h"
#include "verify/verdict.h"
#include "verify/verifying.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct pack_values {
    struct verifying_values v; /* first; `pack check` offers all of it */
    bool no_probe, verify, write;
    struct opt_list precision;
    const char *in;
};

#define VALUES struct pack_values
#define NO_PROBE_OPTION                \
    OPTION("no-probe", OPT_FLAG, NULL, \
           "do not test what this machine can do with a pack", no_probe)

static const struct opt pack_list_table[] = {
    VERIFYING_OPTION("json", OPT_FLAG, NULL,
                     "print a JSON object for each pack", json, 0, 0),
    NO_PROBE_OPTION,
    VERIFYING_OPTION("packs", OPT_LIST, "DIR", PACKS_HELP, packs, 0, 0),
    {0},
};
static const struct opt pack_check_table[] = {
    NO_PROBE_OPTION,
    {"verify", 0, OPT_FLAG, NULL,
     "verify all seeds and show a table of the verdicts; the options below "
     "belong to it",
     AT(verify)},
    {"write", 0, OPT_FLAG, NULL,
     "store the verdicts in the meta.json of the seeds (verified, verified_on, "
     "why_not)",
     AT(write)},
    {"precision", 0, OPT_LIST, "LIST",
     "one or more of " PRECISION_CHOICES ", separated by commas (may be "
     "repeated; default: the pack's own; fp32 on the CPU)",
     AT(precision)},
    VERIFYING_OPTION("no-timing", OPT_FLAG, NULL,
                     "do not measure the speed of correct seeds", no_timing, 0,
                     0),
    VERIFYING_PLACE_OPTIONS,
    {0},
};
static const struct opt pack_new_table[] = {
    {"in", 0, OPT_TEXT, "DIR", "create it in DIR (default: packs)", AT(in)},
    {0},
};

/* One pack of the list, looked at. */
struct seen {
    struct pack *pack; /* NULL: it does not load */
    struct problems problems;
    struct pack_probe probe; /* why NULL: not probed */
    struct seeds seeds;      /* with --verify */
};

struct packs {
    const struct home *home;
    const struct packs_path *path;
    struct pack_list list;
    struct seen *seen;
};

static int pack_open(struct cmd_call *call, struct packs *p, struct err *e)
{
    const struct pack_values *v = call->values;

    p->path = cmd_packs(call, &v->v.packs, e);
    p->home = cmd_home(call, e);
    if (!p->path || packs_named(&p->path->path, call->r.rest, call->r.rest_len,
                                &p->list, e) < 0)
        return -1;
    p->seen = xcalloc(p->list.len ? p->list.len : 1, sizeof(*p->seen));
    for (size_t i = 0; i < p->list.len; i++) {
        problems_init(&p->seen[i].problems);
        p->seen[i].pack = pack_load(&p->path->path, p->list.item[i].dir,
                                    &p->seen[i].problems);
    }
    return 0;
}

static void pack_close(struct packs *p)
{
    for (size_t i = 0; p->seen && i < p->list.len; i++) {
        seeds_release(&p->seen[i].seeds);
        if (p->seen[i].pack)
            pack_free(p->seen[i].pack);
        problems_release(&p->seen[i].problems);
        free(p->seen[i].probe.why);
    }
    free(p->seen);
    pack_list_release(&p->list);
}

static int pack_probe_all(struct packs *p, struct err *e)
{
    struct pack_probe *probe = xcalloc(p->list.len + 1, sizeof(*probe));
    int rc = packs_probe(&(struct pack_probes){.home = p->home,
                                               .packs = &p->list,
                                               .label = "probing packs"},
                         probe, e);

    for (size_t i = 0; i < p->list.len; i++)
        p->seen[i].probe = probe[i];
    free(probe);
    return rc;
}

static json_t *pack_problems(const struct problems *p)
{
    json_t *list = json_array();

    for (size_t i = 0; i < p->len; i++)
        json_array_append_new(list, jsn_of(p->line[i]));
    return list;
}

/* The facts of one pack; fields that are not known are null. */
static void pack_print_json(const struct packs *p, size_t i)
{
    const struct seen *s = &p->seen[i];
    const struct pack *k = s->pack;
    json_t *line = json_pack(
        "{s:s, s:s, s:s?, s:s?, s:s?, s:o, s:i, s:b, s:b, s:s?, s:s?, s:o}",
        "id", p->list.item[i].id, "dir", p->list.item[i].dir, "name",
        k ? k->display_name : NULL, "version", k ? k->version : NULL, "hash",
        k ? k->hash : NULL, "rules",
        k ? json_integer((json_int_t)k->set[PACK_DEFAULT].len) : json_null(),
        "seeds", k ? (int)k->seed_count : 0, "guide", k && k->has_guide, "ok",
        k && s->problems.len == 0, "usable",
        s->probe.why ? pack_probe_levels[s->probe.level] : NULL, "why",
        s->probe.why, "problems", pack_problems(&s->problems));

    if (s->seeds.len)
        json_object_set_new(line, "verdicts", seeds_json(&s->seeds));
    jsn_line(line);
}

static void pack_print_usable(const struct pack_probe *p)
{
    if (p->why)
        printf("usable: %s (%s)\n", pack_probe_levels[p->level], p->why);
    else
        printf("not probed\n");
}

/* ---- list ---- */

static int pack_list_run(struct cmd_call *call, struct err *e)
{
    const struct pack_values *v = call->values;
    struct packs p = {0};
    int rc = pack_open(call, &p, e);

    if (rc == 0 && !v->no_probe)
        rc = pack_probe_all(&p, e);
    for (size_t i = 0; rc == 0 && i < p.list.len; i++) {
        if (v->v.json) {
            pack_print_json(&p, i);
        } else if (!p.seen[i].pack) {
            printf("%-16s does not load: %s\n", p.list.item[i].id,
                   p.seen[i].problems.line[0]);
        } else {
            printf("%-16s %-24s %2zu rules  ", p.list.item[i].id,
                   p.seen[i].pack->display_name,
                   p.seen[i].pack->set[PACK_DEFAULT].len);
            pack_print_usable(&p.seen[i].probe);
        }
    }
    pack_close(&p);
    return rc;
}

static const struct pack_values pack_defaults = {.v = VERIFYING_DEFAULTS,
                                                 .in = "packs"};

const struct cmd cmd_pack_list = {
    "pack list",
    "[ID...]",
    "list the packs and how far each works on this machine",
    NULL,
    pack_list_table,
    pack_list_run,
    sizeof(struct pack_values),
    &pack_defaults,
};

/* ---- check ---- */

/* Every rule must be needed: without it, its bad files fail. */
static void pack_try_removals(const struct pack *k, bool shared,
                              struct problems *out)
{
    struct problems expected;

    problems_init(&expected);
    for (int set = 0; set < PACK_SETS; set++)
        for (size_t i = 0; k->set[set].name && i < k->set[set].len; i++) {
            const struct rule *r = &k->set[set].rule[i];

            if ((r->own || shared) &&
                selftest_without(k, (enum pack_set)set, r->id, &expected) == 0)
                problems_add(out,
                             "%s: rule %s (%s): no file in selftest/bad fails "
                             "without it; add one",
                             k->dir, r->id, k->set[set].name);
        }
    problems_release(&expected);
}

/* The folder of shared rules beside the packs has tests of its own. */
static int pack_check_shared(const struct packs *p, bool as_json)
{
    struct problems problems;
    struct pack *shared;
    int bad = 0;

    for (size_t i = 0; i < p->path->path.len; i++) {
        char *dir = fs_join(p->path->path.dir[i], "common");

        problems_init(&problems);
        shared = fs_is_dir(dir) ? pack_load_shared(dir, &problems) : NULL;
        if (shared && selftest_run(shared, &problems))
            pack_try_removals(shared, true, &problems);
        for (size_t k = 0; k < problems.len; k++)
            fprintf(as_json ? stderr : stdout, "%s\n", problems.line[k]);
        if (fs_is_dir(dir) && !as_json)
            printf("%-16s %s\n", "(shared rules)",
                   problems.len ? "FAILED" : "ok");
        bad += problems.len != 0;
        if (shared)
            pack_free(shared);
        problems_release(&problems);
        free(dir);
    }
    return bad;
}

/* A pack that runs here must find its own seed correct. */
static int pack_try_first_seeds(const struct packs *p,
                                const struct opt_list *given, struct err *e)
{
    struct seeds_first *trial = xcalloc(p->list.len + 1, sizeof(*trial));
    size_t *of = xcalloc(p->list.len + 1, sizeof(*of)), n = 0;
    int rc;

    for (size_t i = 0; i < p->list.len; i++)
        if (p->seen[i].pack && p->seen[i].probe.level == PACK_PROBE_RUN) {
            of[n] = i;
            trial[n++].dir = p->list.item[i].dir;
        }
    rc = seeds_try_first(p->home, given, trial, n, e);
    for (size_t i = 0; i < n; i++) {
        if (rc == 0 && trial[i].tried && !trial[i].correct)
            problems_add(&p->seen[of[i]].problems, "%s: %s", trial[i].dir,
                         trial[i].detail ? trial[i].detail : "no answer");
        free(trial[i].detail);
    }
    free(trial);
    free(of);
    return rc;
}

/* With --verify: all seeds of each pack. Returns how many answers are missing,
 * or -1. */
static int pack_verify_seeds(const struct packs *p, const struct pack_values *v,
                             struct err *e)
{
    struct seeds_opts o = {p->home, &v->v, &v->precision};
    size_t missing = 0;

    for (size_t i = 0; i < p->list.len; i++) {
        struct seen *s = &p->seen[i];

        if (!s->pack)
            continue;
        if (seeds_verify(&s->seeds, s->pack, &o, &s->problems, e) < 0 ||
            (v->write && seeds_write(&s->seeds, e) < 0))
            return -1;
        missing += seeds_missing(&s->seeds);
    }
    return (int)missing;
}

static int pack_check_usage(const struct pack_values *v,
                            const struct opt_result *r, struct err *e)
{
    if (v->verify && r->rest_len == 0)
        return err_set(e, ERR_USAGE,
                       "--verify needs the ID of at least one pack");
    if (v->write && !v->verify)
        return err_set(e, ERR_USAGE, "--write needs --verify");
    return 0;
}

static void pack_print_seeds(const struct seeds *s)
{
    json_t *list = seeds_json(s), *x;
    struct table t;
    size_t i;

    json_array_foreach(list, i, x)
    {
        if (!jsn_str(x, "verdict")[0])
            json_object_set_new(x, "verdict", json_string("no answer yet"));
        if (strcmp(jsn_str(x, "build"), "cached") == 0)
            json_object_set_new(x, "build_s", json_string("cached"));
    }
    table_init(&t, NULL, NULL);
    table_from(&t,
               "seed|precision|verdict|evidence|build=build_s:s|"
               "eager=speedup_eager:x|torch.compile=speedup_compile:x|launches",
               list);
    if (s->len)
        table_show(&t);
    table_release(&t);
    json_decref(list);
}

static int pack_check_one(const struct packs *p, size_t i, bool as_json)
{
    struct seen *s = &p->seen[i];

    if (s->pack && selftest_run(s->pack, &s->problems))
        pack_try_removals(s->pack, false, &s->problems);
    if (s->probe.why && s->probe.level == PACK_PROBE_BROKEN)
        problems_add(&s->problems, "%s/probe.py: %s", p->list.item[i].dir,
                     s->probe.why);
    if (as_json) {
        pack_print_json(p, i);
        return s->problems.len != 0;
    }
    pack_print_seeds(&s->seeds);
    for (size_t k = 0; k < s->problems.len; k++)
        printf("%s\n", s->problems.line[k]);
    if (s->problems.more)
        printf("… and %zu more\n", s->problems.more);
    printf("%-16s %s  ", p->list.item[i].id,
           s->problems.len            ? "FAILED"
           : seeds_missing(&s->seeds) ? "waiting"
                                      : "ok");
    pack_print_usable(&s->probe);
    return s->problems.len != 0;
}

static int pack_check_run(struct cmd_call *call, struct err *e)
{
    const struct pack_values *v = call->values;
    struct packs p = {0};
    int bad = 0, missing = 0, rc = pack_check_usage(v, &call->r, e);

    if (rc == 0)
        rc = pack_open(call, &p, e);
    if (rc == 0 && !v->no_probe)
        rc = pack_probe_all(&p, e);
    if (rc == 0 && v->verify)
        rc = (missing = pack_verify_seeds(&p, v, e)) < 0 ? -1 : 0;
    else if (rc == 0 && !v->no_probe)
        rc = pack_try_first_seeds(&p, &v->v.packs, e);
    if (rc == 0 && call->r.rest_len == 0)
        bad += pack_check_shared(&p, v->v.json);
    for (size_t i = 0; rc == 0 && i < p.list.len; i++)
        bad += pack_check_one(&p, i, v->v.json);
    pack_close(&p);
    if (rc < 0)
        return -1;
    return bad ? 1 : missing ? verdicts[VERDICT_INFRA].exit_status : 0;
}

const struct cmd cmd_pack_check = {
    "pack check",
    "[ID...]",
    "validate packs and run their self-tests",
    "Every file is read and every pattern compiled. Each good file must be\n"
    "accepted, and each bad one must hit exactly the rules listed for it. "
    "Then\n"
    "each rule is left out once, and its bad files must fail. The pack's "
    "probe\n"
    "says how far it works here: checks, compile or run. If it runs, its "
    "first\n"
    "seed must be correct.\n"
    "With --verify all seeds must be correct with evidence E3, and a smuggled "
    "kernel,\n"
    "which is not of the pack's language, must be a compile_error. The table "
    "shows\n"
    "for each seed and precision the verdict, the evidence, how long its "
    "kernels\n"
    "took to compile, the speed-up over eager PyTorch and over torch.compile,\n"
    "and the launches of a call.\n"
    "Exit status: 1 if something is wrong with a pack, 4 if answers from "
    "another\n"
    "host are still missing.",
    pack_check_table,
    pack_check_run,
    sizeof(struct pack_values),
    &pack_defaults,
};

/* ---- new ---- */

/* Copies a template with @ID@ replaced; ".in" falls off the name. */
static int pack_copy_file(const char *from, const char *to, const char *id,
                          struct err *e)
{
    static const char mark[] = "@ID@";
    struct buf text = {.limit = (size_t)1 << 20}, out = BUF_INIT;
    const char *at, *next;
    char *name = xstrdup(to);
    int rc;

    name[strlen(name) - strlen(".in")] = '\0';
    rc = fs_read(from, &text, e);
    for (at = buf_str(&text); rc == 0 && (next = strstr(at, mark));
         at = next + strlen(mark)) {
        buf_put(&out, at, (size_t)(next - at));
        buf_puts(&out, id);
    }
    if (rc == 0) {
        buf_puts(&out, at);
        rc = fs_replace(name, buf_str(&out), out.len, e);
    }
    buf_release(&text);
    buf_release(&out);
    free(name);
    return rc;
}

static int pack_copy_tree(const char *from, const char *to, const char *id,
                          struct err *e)
{
    struct fs_names names;
    int rc = fs_list(from, false, &names, e);

    if (rc == 0)
        rc = fs_mkdirs(to, e);
    for (size_t i = 0; rc == 0 && i < names.len; i++) {
        char *a = fs_join(from, names.name[i]), *b = fs_join(to, names.name[i]);

        if (fs_is_dir(a))
            rc = pack_copy_tree(a, b, id, e);
        else if (str_ends(str_of(a), ".in"))
            rc = pack_copy_file(a, b, id, e);
        free(a);
        free(b);
    }
    fs_names_release(&names);
    return rc;
}

static bool pack_is_id(const char *id)
{
    return id[0] && id[0] != '-' &&
           strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(id);
}

static int pack_new_run(struct cmd_call *call, struct err *e)
{
    const struct pack_values *v = call->values;
    const char *id = call->r.rest_len == 1 ? call->r.rest[0] : NULL;
    const struct home *home = cmd_home(call, e);
    char *to, *from;
    int rc = home ? 0 : -1;

    if (!id)
        return err_set(e, ERR_USAGE,
                       "exactly one ID is needed: the name of the new pack");
    if (rc == 0 && !pack_is_id(id))
        return err_set(
            e, ERR_USAGE,
            "'%s' is not a valid id: use lower-case letters, digits and dashes",
            id);
    to = fs_join(v->in, id);
    if (rc == 0 && access(to, F_OK) == 0)
        rc = err_set(e, ERR_INPUT, "%s already exists", to);
    if (rc == 0) {
        from = fs_join(home->dir, "packs/template");
        rc = pack_copy_tree(from, to, id, e);
        free(from);
    }
    if (rc == 0)
        printf("Created %s. It passes 'monkeys pack check --packs %s %s'.\n"
               "Its README.md says what to fill in.\n",
               to, v->in, id);
    free(to);
    return rc;
}

const struct cmd cmd_pack_new = {
    "pack new",
    "ID",
    "create the folder of a new pack, ready to be filled in",
    NULL,
    pack_new_table,
    pack_new_run,
    sizeof(struct pack_values),
    &pack_defaults,
};
