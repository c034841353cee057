/* prompt.h: what a model is sent. Templates are the files in prompts/: text
 * with slots {{name}} and sections {{#name}} … {{/name}} that are left out when
 * the name has no value. All of them are read and checked at the start: a slot
 * that nothing fills, or a value that no template takes, is an error.
 *
 * What is shared by many prompts comes first, so that prefix caches hit: role,
 * dsl_overview, context (examples), then task_to_be_optimized,
 * previous_attempts, implementation_plan, precision. Role and dsl_overview are
 * the system message, the rest is the user's; evolution has context, task and
 * precision in the system message, too. docs/PROMPTS.md describes the files. */
#ifndef PROMPT_PROMPT_H
#define PROMPT_PROMPT_H

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "llm/llm.h"
#include "pack/pack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct prompt_start; /* private */

enum prompt_stage { PROMPT_PLAN, PROMPT_CODE, PROMPT_EVOLVE };
extern const char *const prompt_stages[3]; /* "plan", "code", "evolve" */

/* The hash of an example as prompts of a stage show it, number aside, once it
 * is known: prompts with one start (of one struct prompts, one pack) have one
 * text for it. */
struct prompt_seen {
    const struct prompt_start *start;
    char hash[HASH_HEX];
};

/* An entry of the archive. */
struct prompt_example {
    const char *name;
    struct str problem, plan /* p NULL: none */, solution;
    /* NULL, or two (for plans, for programs), zeroed at first, of somebody who
     * never changes these texts and goes before the prompts do. */
    struct prompt_seen *seen;
};

/* An earlier attempt on the same task. */
struct prompt_attempt {
    int number; /* 0: the initial program */
    struct str code;
    const char *verdict;
    struct str feedback;
    double fitness; /* shown to evolution; < 0: not known */
};

struct prompt_input {
    enum prompt_stage stage;
    const struct pack *pack;
    bool no_card; /* the guide alone, as in the paper */
    const char *task_id;
    struct str task;       /* its source */
    const char *task_hash; /* SHA-256 of that text, or NULL: not known */
    const char *precision; /* "fp32", "tf32", "fp16", "bf16" */
    const char *device;    /* "cpu", "cuda:0" */
    const struct prompt_example *example;
    size_t example_count;
    struct str plan;                       /* PROMPT_CODE */
    const char *plan_hash;                 /* as task_hash */
    const struct prompt_attempt *previous; /* refine: the last one; evolve:
                                               up to 3 others than the parent */
    size_t previous_count;
    const struct prompt_attempt *parent; /* PROMPT_EVOLVE */
    bool diff;                           /* answer with SEARCH/REPLACE blocks */
};

/* A part of a message that other prompts have, too, or what lies between two
 * such: the pack's start, an example behind its number, the task, the plan. Who
 * keeps prompts keeps each once. */
struct prompt_segment {
    size_t message;
    struct str text;
    char hash[HASH_HEX];
};

/* A finished prompt, in the arena it was built in; the pack's start is lent by
 * the struct prompts. */
struct prompt {
    struct llm_message message[2]; /* system, user */
    size_t count;
    struct prompt_segment *segment; /* all of the texts, in order */
    size_t segments;
    struct str list;     /* JSON: [{"role": …, "parts": [hash, …]}, …] */
    char hash[HASH_HEX]; /* of the list */
    int64_t tokens;      /* an estimate */
};

struct prompts;
/* Reads the templates in `dir`. */
struct prompts *prompts_load(const char *dir, struct err *e);
/* Shows this file instead of a pack's guide.md. Before the first prompt. */
void prompts_use_guide(struct prompts *p, const char *path);
void prompts_free(struct prompts *p);

/* Reads guide and card of the pack at its first use. */
int prompts_build(struct prompts *p, const struct prompt_input *in,
                  struct arena *a, struct prompt *out, struct err *e);

#endif
