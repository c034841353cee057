/* pack.h: a loaded DSL pack. A pack is a folder that teaches the program one
 * language; docs/PACKS.md describes it. Loading is strict and reports all
 * problems at once. */
#ifndef PACK_PACK_H
#define PACK_PACK_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/home.h"
#include "base/json.h"
#include "base/opt.h"
#include "base/tick.h"
#include "io/proc.h"
#include "pack/pack_file.h"
#include "pack/rule.h"
#include "pack/schema.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pack_language { PACK_PYTHON, PACK_CXX_IN_PYTHON, PACK_OWN_IN_PYTHON };
enum pack_device { PACK_CPU, PACK_CUDA };
enum pack_set { PACK_DEFAULT, PACK_PAPER };
#define PACK_SETS 2
extern const char *const pack_set_names[PACK_SETS]; /* "default", "paper" */

struct pack_source {
    const char *repo, *commit, *licence, *note; /* note may be NULL */
    const char **paths;                         /* NULL-terminated */
};

struct pack_seed {
    const char *name, *dir;
    const char *origin, *licence;
    const char **shapes; /* of the inputs: "64x32"; NULL-terminated */
    enum precision dtype;
    bool verified;
    const char *verified_on, *why_not; /* one of them is NULL */
};

struct pack_shared; /* a file of rules that packs extend */

/* The pack owns everything in it. */
struct pack {
    char *dir;           /* as given, without a trailing slash */
    char hash[HASH_HEX]; /* of its files and the files it extends */

    const char *id, *display_name, *prompt_name, *version;
    enum pack_language language;
    struct {
        int timeout_s;
    } build;
    struct {
        const char *helper; /* may be NULL */
        const char *family; /* whose launches are recorded; NULL: at most E2 */
        unsigned devices, dtypes; /* 1 << enum pack_device, 1 << enum
                                     precision */
        enum precision default_dtype;
        int hang_timeout_s;
    } run;
    struct {
        const char *answer_fence, *must_define, *plan_hint, *code_hint;
        int64_t max_guide_tokens;
    } prompt;

    struct pack_seed *seed; /* in the order of prompt.seed_order */
    size_t seed_count;
    struct pack_source *source;
    size_t source_count;
    bool has_guide, has_card;
    const char **imports; /* modules that prompts name; NULL-terminated */
    struct ruleset set[PACK_SETS]; /* name NULL: the pack has no such set */
    struct hints hints;

    /* ---- private ---- */
    struct arena memory;
    json_t *files; /* a list that owns the strings */
    struct rules own[PACK_SETS];
    struct pack_shared *shared; /* a linked list */
};

/* Folders that hold packs, in the order they are searched. */
struct pack_path {
    const char *const *dir;
    size_t len;
};

/* The packs in a search path, sorted by id. If two have the same id, the first
 * one found. A folder without a pack.json is not a pack. */
struct pack_list {
    struct {
        char *id, *dir;
    } * item;
    size_t len, cap;
};
int pack_list(const struct pack_path *path, struct pack_list *out,
              struct err *e);
void pack_list_release(struct pack_list *l);
/* Loads the pack in `dir`; NULL, with all problems, on failure. Files it
 * extends are looked up beside it, then along `path`. */
struct pack *pack_load(const struct pack_path *path, const char *dir,
                       struct problems *out);
/* Loads a folder of shared rules (default.json, paper.json, selftest/) as a
 * pack with only these rules: sets only dir, hash and set. */
struct pack *pack_load_shared(const char *dir, struct problems *out);
void pack_free(struct pack *p);

/* NULL, with advice, when the pack does not have the set. */
const struct ruleset *pack_ruleset(const struct pack *p, const char *name,
                                   struct err *e);
/* Whether a search can use the pack: it has a guide, a card and at least one
 * seed. */
int pack_can_search(const struct pack *p, struct err *e);

/* Why verdicts of this pack stop at E2, worded to follow its name. NULL: they
 * reach E3. */
const char *pack_below_e3(const struct pack *p);

#define PACKS_HELP                                                            \
    "also look for packs in DIR (may be repeated); the environment variable " \
    "MONKEYS_PACKS names further folders, separated by colons"

/* The search path: the given folders, then the program's own. */
struct packs_path {
    struct pack_path path;
    const char **dirs;
    char *own;
};
void packs_path_init(struct packs_path *p, const struct opt_list *given,
                     const struct home *home);
void packs_path_release(struct packs_path *p);

/* The packs with these ids, in that order; without any, all that there are. */
int packs_named(const struct pack_path *path, const char *const *id, size_t n,
                struct pack_list *out, struct err *e);
/* Loads the pack `id`. The caller frees it with pack_free(). */
struct pack *packs_load(const struct packs_path *p, const char *id,
                        struct err *e);

/* ---- what packs can do on this machine: a pack's probe.py prints one line. That line,
 * or how the probe failed, gives a level and a reason ---- */

enum pack_probe_level {
    PACK_PROBE_BROKEN,
    PACK_PROBE_CHECKS,
    PACK_PROBE_COMPILE,
    PACK_PROBE_RUN
};
#define PACK_PROBE_LEVELS 4
extern const char
    *const pack_probe_levels[PACK_PROBE_LEVELS]; /* "broken", "checks", … */

struct pack_probe {
    enum pack_probe_level level;
    char *why; /* one line; the caller frees */
};

/* A probe works for seconds, but a busy machine takes long. */
#define PACK_PROBE_NS (300 * TICK_S)

struct pack_probes {
    const struct home *home;
    const struct pack_list *packs;
    const char *label;         /* of the progress; NULL: none is shown */
    struct procs_item *beside; /* other commands that are to run meanwhile */
    size_t besides;
};
/* Probes all packs of a list, side by side: one result for each in `out`. */
int packs_probe(const struct pack_probes *p, struct pack_probe *out,
                struct err *e);

#endif
