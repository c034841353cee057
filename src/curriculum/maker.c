/* maker.c: the way of each task from the question to its division, and from the
 * divisions to one curriculum. */
#include "curriculum/maker.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/map.h"
#include "base/mem.h"
#include "prompt/ask.h"
#include "source/py_normal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define TRACE_LINES 400
#define TEXT_BYTES  60000 /* of a division, or of a reply */
#define STEM_BYTES  60

/* One task. */
struct making {
    const struct task *task;
    json_t *own;     /* the verifier's division */
    json_t *refused; /* findings of each refused reply of the model */
    char *last;      /* the last refused reply */
    int turns;       /* of the model */
    json_t *answer;  /* settled: the division that is used */
    char *why;       /* settled: the verifier failed */
};

struct maker {
    struct maker_parts part;
    enum piece_level level;
    struct making *item;
    size_t len;
    struct ask_all ask;
};

/* ---- the verifier ---- */

/* Has the task divided, or the model's proposal validated. 0: it failed and is
 * settled, or `out` has the answer. -1: there is no answer now. */
static int maker_divide(struct maker *m, struct making *x,
                        const json_t *proposal, json_t **out)
{
    struct verifier_division q = {.task = x->task,
                                  .level = piece_levels[m->level],
                                  .proposal = proposal,
                                  .job = m->part.job};
    struct verifier_answer d = {0};
    struct err e = ERR_INIT;
    const char *said;

    *out = NULL;
    if (verifier_divide(m->part.verifier, &q, &d, &e) < 0) {
        if (e.kind == ERR_NONE)
            return -1;
        x->why = xstrdup(e.text);
        return 0;
    }
    said = d.record ? jsn_str(d.record, "feedback") : d.why;
    if (d.record && json_object_get(d.record, "problem_id") &&
        contract_check(d.record, "the verifier's answer", CONTRACT_ANSWER,
                       &e) == 0)
        *out = json_incref(d.record);
    else if (e.kind != ERR_NONE)
        said = e.text;
    if (!*out)
        x->why = xstrdup(*said ? said : "the verifier gave no division");
    verifier_answer_release(&d);
    return 0;
}

/* ---- what the model is shown ---- */

/* "scores: matmul [2, 4, 64, 64] fp32, 131072 bytes, 4194304 flops" */
static struct str trace_text(const json_t *trace, struct arena *a)
{
    size_t n = json_array_size(trace);
    struct buf b = BUF_INIT;

    for (size_t i = 0; i < n && i < TRACE_LINES; i++) {
        const json_t *v = json_array_get(trace, i);
        char *shape = json_dumps(json_object_get(v, "shape"), 0);

        buf_printf(&b, "%s: %s %s %s, %lld bytes, %lld flops\n",
                   jsn_str(v, "name"), jsn_str(v, "op"), shape ? shape : "[]",
                   jsn_str(v, "dtype"), (long long)jsn_int(v, "bytes"),
                   (long long)jsn_num(v, "flops"));
        free(shape);
    }
    if (n > TRACE_LINES)
        buf_printf(&b, "… and %zu more\n", n - TRACE_LINES);
    return buf_keep(&b, a);
}

/* The division as the model would write it; without sources if it is long. */
static struct str division_text(const json_t *own, struct arena *a)
{
    json_t *v = json_pack("{s:O, s:O}", "subproblems",
                          json_object_get(own, "subproblems"), "composition",
                          json_object_get(own, "composition"));
    json_t *copy = json_deep_copy(v), *sub;
    struct buf b = BUF_INIT;
    size_t i;
    char *text;

    json_decref(v);
    json_array_foreach(json_object_get(copy, "subproblems"), i, sub)
    {
        json_object_del(sub, "sidecar");
        json_object_del(sub, "why");
    }
    text = json_dumps(copy, JSON_INDENT(1));
    if (strlen(text) > TEXT_BYTES) {
        free(text);
        json_array_foreach(json_object_get(copy, "subproblems"), i, sub)
        {
            json_object_del(sub, "source");
        }
        text = json_dumps(copy, JSON_COMPACT);
    }
    json_decref(copy);
    buf_puts(&b, text);
    free(text);
    return buf_keep(&b, a);
}

/* "answer 1: p1_scores: not_finite (step 4): …" */
static struct str refusals_text(const json_t *refused, struct arena *a)
{
    struct buf b = BUF_INIT;

    for (size_t i = 0; i < json_array_size(refused); i++) {
        const json_t *list = json_array_get(refused, i);

        for (size_t k = 0; k < json_array_size(list); k++) {
            const json_t *f = json_array_get(list, k);
            const char *sub = jsn_str(f, "sub");

            buf_printf(&b, "answer %zu: %s%s%s (step %lld): %s\n", i + 1, sub,
                       *sub ? ": " : "", jsn_str(f, "code"),
                       (long long)jsn_int(f, "step"), jsn_str(f, "detail"));
        }
    }
    return buf_keep(&b, a);
}

/* The prompt of the next turn. */
static void maker_prompt(const struct maker *m, const struct making *x,
                         struct arena *a, struct prompt *out)
{
    struct prompt_decompose d = {
        .name = x->task->id,
        .task = {x->task->source, x->task->len},
        .level = piece_levels[m->level],
        .pieces = piece_counts[m->level],
        .trace = trace_text(json_object_get(x->own, "trace"), a),
        .refusals = refusals_text(x->refused, a)};

    if (json_array_size(json_object_get(x->own, "subproblems")))
        d.proposal = division_text(x->own, a);
    if (x->last && strlen(x->last) <= TEXT_BYTES)
        d.last = str_of(x->last);
    prompts_decompose(m->part.prompts, &d, a, out);
}

/* A list with one finding: the reply itself is of no use. */
static json_t *one_finding(const char *code, const char *detail)
{
    return json_pack("[{s:n, s:i, s:s, s:o}]", "sub", "step", 1, "code", code,
                     "detail", jsn_of(detail));
}

/* ---- the model ---- */

static int maker_ask(struct maker *m, struct making *x, struct arena *memory,
                     struct ledger_answer *out)
{
    char asked[HASH_HEX];
    struct ledger_question q = {.purpose = "decompose", .asked = asked};
    struct prompt prompt;

    maker_prompt(m, x, memory, &prompt);
    x->turns++;
    ledger_hash(asked, "%s/%s/%d/%s", x->task->id, piece_levels[m->level],
                x->turns, prompt.hash);
    q.prompt_hash = prompt.hash;
    q.request = (struct llm_request){
        .key = {x->task->id, "decompose", piece_levels[m->level], x->turns},
        .message = prompt.message,
        .count = prompt.count};
    return ask_all_question(&m->ask, &q, memory, out);
}

/* The proposal in a reply, or NULL: it is refused. */
static json_t *read_proposal(const struct maker *m, struct making *x,
                             const struct ledger_answer *a)
{
    struct err e = ERR_INIT;
    const char *code;
    json_t *proposal = contract_extract(a->text, &code, &e);

    free(x->last);
    x->last = xstrndup(a->text.p, a->text.n);
    if (proposal) {
        json_object_set_new(proposal, "problem_id", json_string(x->task->id));
        json_object_set_new(proposal, "level",
                            json_string(piece_levels[m->level]));
        return proposal;
    }
    json_array_append_new(
        x->refused,
        a->cut ? one_finding("reply_cut",
                             "the reply was cut at the token limit: use "
                             "fewer or shorter pieces")
               : one_finding(code, e.text));
    return NULL;
}

/* Whether the verifier's answer to a proposal settles the task. Pieces that do not
 * compose can still be learned from. */
static bool proposal_is_good(const struct making *x, const json_t *proposal,
                             const json_t *answer)
{
    size_t sent = json_array_size(json_object_get(proposal, "subproblems"));
    bool whole =
             json_array_size(json_object_get(answer, "subproblems")) == sent,
         proved =
             !jsn_true(json_object_get(proposal, "composition"), "claimed") ||
             jsn_true(json_object_get(answer, "composition"), "proved");

    return whole && (proved || x->turns > MAKER_REPAIRS);
}

/* A proposal, and the verifier's answer to it. `used` stays NULL when it is
 * refused. */
static int maker_turn(struct maker *m, struct making *x, json_t **used,
                      struct err *e)
{
    struct ledger_answer a;
    struct arena memory = {0};
    json_t *proposal = NULL, *answer = NULL;
    int rc;

    rc = maker_ask(m, x, &memory, &a);
    if (rc == 0 && a.end == LEDGER_FAILED)
        rc = err_set(e, ERR_SYSTEM, "%s: the model did not answer: %s",
                     x->task->id, a.why);
    if (rc == 0)
        proposal = read_proposal(m, x, &a);
    arena_release(&memory); /* the verifier may take days */
    if (proposal)
        rc = maker_divide(m, x, proposal, &answer);
    if (answer && proposal_is_good(x, proposal, answer))
        *used = json_incref(answer);
    else if (answer)
        json_array_append(x->refused, json_object_get(answer, "findings"));
    json_decref(proposal);
    json_decref(answer);
    return rc;
}

/* ---- each task ---- */

static int maker_make(struct ask_all *a, size_t item, void *arg, struct err *e)
{
    struct maker *m = arg;
    struct making *x = &m->item[item];
    bool asks = a->part.ledger;
    json_t *used = NULL;

    if (maker_divide(m, x, NULL, &x->own) < 0)
        return -1;
    while (asks && !x->why && !used && x->turns <= MAKER_REPAIRS)
        if (maker_turn(m, x, &used, e) < 0)
            return -1;
    if (x->why)
        return 0;
    x->answer = used ? used : json_deep_copy(x->own);
    if (asks)
        json_object_set_new(x->answer, "model",
                            json_pack("{s:i, s:b, s:O}", "calls", x->turns,
                                      "used", used != NULL, "refused",
                                      x->refused));
    return 0;
}

struct maker *maker_new(const struct maker_parts *p,
                        const struct collection *tasks, enum piece_level level)
{
    struct maker *m = xcalloc(1, sizeof(*m));

    m->part = *p;
    m->ask.part = p->ask;
    m->level = level;
    m->len = tasks->len;
    m->item = xcalloc(tasks->len + 1, sizeof(*m->item));
    for (size_t i = 0; i < m->len; i++) {
        m->item[i].task = tasks->task[i];
        m->item[i].refused = json_array();
    }
    return m;
}

void maker_free(struct maker *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->len; i++) {
        struct making *x = &m->item[i];

        json_decref(x->own);
        json_decref(x->refused);
        json_decref(x->answer);
        free(x->last);
        free(x->why);
    }
    free(m->item);
    free(m);
}

enum ask_end maker_run(struct maker *m, struct err *e)
{
    enum ask_end end = ask_all(&m->ask, m->len, maker_make, m, e);

    for (size_t i = 0; i < m->len && (end == ASK_DONE || end == ASK_WAITING);
         i++)
        if (m->item[i].why) {
            err_set(e, ERR_SYSTEM, "%s: %s", m->item[i].task->path,
                    m->item[i].why);
            end = ASK_FAILED;
        } else if (!m->item[i].answer) {
            end = ASK_WAITING;
        }
    return end;
}

void maker_stop(struct maker *m)
{
    ask_all_stop(&m->ask);
}

/* ---- equal pieces found, names given, needs joined ---- */

/* A piece while the problems are gone through. */
struct draft {
    char *name;
    const json_t *sub; /* the first that is this piece; the answer's */
    const char *level;
    json_t *parents;
    struct draft **needs;
    size_t nneeds, needs_cap;
    size_t seen; /* the last search that came here */
};

struct merging {
    const struct merge_part *part;
    size_t n;
    char **stem; /* of each problem */
    struct draft **draft;
    size_t len, cap;
    struct map by_key, by_name; /* drafts */
    size_t searches;
};

/* ---- names ---- */

/* The name of the task's file, as [a-z0-9_-]. */
static char *stem_of(const struct task *t)
{
    struct str s = str_of(fs_base(t->path));
    char *out;

    if (str_ends(s, ".py"))
        s.n -= 3;
    if (s.n > STEM_BYTES)
        s.n = STEM_BYTES;
    out = xstrndup(s.p, s.n);
    for (char *p = out; *p; p++)
        *p = isalnum((unsigned char)*p) && (unsigned char)*p < 128
                 ? (char)tolower((unsigned char)*p)
                 : '_';
    return out;
}

/* `base`, or the first of base_2, base_3, … that `taken` does not have. */
static char *unused(const struct map *taken, const char *base)
{
    char *name = xstrdup(base);

    for (size_t i = 2; map_get(taken, str_of(name)); i++) {
        free(name);
        name = xasprintf("%s_%zu", base, i);
    }
    return name;
}

static void name_problems(struct merging *m)
{
    struct map taken = {0};

    for (size_t i = 0; i < m->n; i++) {
        char *base = stem_of(m->part[i].task);

        m->stem[i] = unused(&taken, base);
        map_set(&taken, str_of(m->stem[i]), m);
        free(base);
    }
    map_release(&taken);
}

/* ---- equal pieces ---- */

/* What two subproblems have in common if they are one piece. How the inputs
 * are drawn is in the source. */
static char *piece_key(const json_t *sub)
{
    const json_t *inputs = json_object_get(sub, "inputs");
    char hash[HASH_HEX];
    struct buf b = BUF_INIT;

    py_normal_hash_renamed(str_of(jsn_str(sub, "source")), hash);
    buf_puts(&b, hash);
    for (size_t i = 0; i < json_array_size(inputs); i++) {
        const json_t *in = json_array_get(inputs, i);
        json_t *v = json_pack("[O, O]", json_object_get(in, "shape"),
                              json_object_get(in, "dtype"));
        char *text = jsn_canonical(v);

        buf_puts(&b, text);
        free(text);
        json_decref(v);
    }
    return buf_take(&b, NULL);
}

static struct draft *draft_of(struct merging *m, size_t i, const json_t *sub)
{
    char *key = piece_key(sub), *base;
    struct draft *d = map_get(&m->by_key, str_of(key));

    if (!d) {
        base = xasprintf("%s_%s", m->stem[i], jsn_str(sub, "id"));
        d = xcalloc(1, sizeof(*d));
        *d = (struct draft){.name = unused(&m->by_name, base),
                            .sub = sub,
                            .level = jsn_str(m->part[i].answer, "level"),
                            .parents = json_array()};
        free(base);
        m->draft = xgrow(m->draft, &m->cap, m->len, sizeof(struct draft *));
        m->draft[m->len++] = d;
        map_set(&m->by_key, str_of(key), d);
        map_set(&m->by_name, str_of(d->name), d);
    }
    json_array_append_new(d->parents, json_pack("{s:s, s:s}", "problem",
                                                m->part[i].task->id, "sub",
                                                jsn_str(sub, "id")));
    free(key);
    return d;
}

/* ---- needs ---- */

static bool reaches(struct draft *from, const struct draft *to, size_t mark)
{
    if (from == to)
        return true;
    if (from->seen == mark)
        return false;
    from->seen = mark;
    for (size_t i = 0; i < from->nneeds; i++)
        if (reaches(from->needs[i], to, mark))
            return true;
    return false;
}

/* Left out if it is known already, or if `need` needs `d`. */
static void add_need(struct merging *m, struct draft *d, struct draft *need)
{
    for (size_t i = 0; i < d->nneeds; i++)
        if (d->needs[i] == need)
            return;
    if (reaches(need, d, ++m->searches))
        return;
    d->needs =
        xgrow(d->needs, &d->needs_cap, d->nneeds, sizeof(struct draft *));
    d->needs[d->nneeds++] = need;
}

/* The drafts of the subproblems whose output this one takes, or that it says it
 * depends on. */
static void join_needs(struct merging *m, const json_t *subs,
                       struct draft **mine)
{
    for (size_t i = 0; i < json_array_size(subs); i++) {
        const json_t *sub = json_array_get(subs, i),
                     *on = json_object_get(sub, "depends_on"),
                     *inputs = json_object_get(sub, "inputs");

        for (size_t j = 0; j < json_array_size(subs); j++) {
            const char *id = jsn_str(json_array_get(subs, j), "id");
            size_t n = strlen(id);
            bool needed = false;

            for (size_t k = 0; k < json_array_size(on); k++)
                needed |=
                    strcmp(json_string_value(json_array_get(on, k)), id) == 0;
            for (size_t k = 0; k < json_array_size(inputs); k++) {
                const char *from = jsn_str(json_array_get(inputs, k), "from");

                needed |= strncmp(from, id, n) == 0 && from[n] == ':';
            }
            if (needed)
                add_need(m, mine[i], mine[j]);
        }
    }
}

/* ---- from drafts to a curriculum ---- */

/* What a folder keeps of an answer: nothing that differs between two runs. */
static json_t *outline_of(const json_t *answer)
{
    static const char *const keep[] = {"problem_id",  "level",    "subproblems",
                                       "composition", "findings", "model"};
    json_t *out = json_object();

    for (size_t i = 0; i < sizeof(keep) / sizeof(keep[0]); i++) {
        const json_t *v = json_object_get(answer, keep[i]);

        if (v)
            json_object_set_new(out, keep[i], json_deep_copy(v));
    }
    return out;
}

static int merge_add_problem(struct merging *m, size_t i,
                             struct curriculum *out, struct err *e)
{
    json_t *outline = outline_of(m->part[i].answer), *sub;
    json_t *subs = json_object_get(outline, "subproblems");
    const json_t *old = json_object_get(m->part[i].answer, "subproblems");
    size_t n = json_array_size(subs), k;
    struct draft **mine = xcalloc(n + 1, sizeof(*mine));
    char *path = xasprintf("problems/%s.json", m->stem[i]);
    int rc;

    json_array_foreach(subs, k, sub)
    {
        mine[k] = draft_of(m, i, json_array_get(old, k));
        json_object_del(sub, "source");
        json_object_del(sub, "sidecar");
        json_object_set_new(sub, "piece", json_string(mine[k]->name));
    }
    join_needs(m, old, mine);
    json_object_set_new(outline, "problem_id",
                        json_string(m->part[i].task->id));
    rc = curriculum_add_problem(out, path, outline, e);
    free(mine);
    free(path);
    return rc;
}

static int merge_add_piece(const struct draft *d, struct curriculum *out,
                           struct err *e)
{
    const json_t *source = json_object_get(d->sub, "source");
    json_t *sidecar = json_copy(json_object_get(d->sub, "sidecar")),
           *needs = json_array();
    char *path = xasprintf("pieces/%s.py", d->name);
    struct task *t = task_from(
        path,
        (struct str){json_string_value(source), json_string_length(source)}, e);
    int rc = -1;

    if (!json_is_object(sidecar)) {
        json_decref(sidecar);
        sidecar = json_object();
    }
    for (size_t i = 0; i < d->nneeds; i++)
        json_array_append_new(needs, json_string(d->needs[i]->name));
    json_object_set_new(sidecar, "piece",
                        json_pack("{s:s, s:s, s:s, s:o, s:O}", "title",
                                  jsn_str(d->sub, "title"), "kind",
                                  jsn_str(d->sub, "kind"), "level", d->level,
                                  "needs", needs, "parents", d->parents));
    if (t) {
        t->sidecar = json_incref(sidecar);
        rc = curriculum_add_piece(out, path, t, e);
    }
    json_decref(sidecar);
    free(path);
    return rc;
}

static void merging_release(struct merging *m)
{
    for (size_t i = 0; i < m->len; i++) {
        free(m->draft[i]->name);
        free(m->draft[i]->needs);
        json_decref(m->draft[i]->parents);
        free(m->draft[i]);
    }
    for (size_t i = 0; i < m->n; i++)
        free(m->stem[i]);
    free(m->stem);
    free(m->draft);
    map_release(&m->by_key);
    map_release(&m->by_name);
}

int curriculum_merge(struct curriculum *out, const struct merge_part *part,
                     size_t n, struct err *e)
{
    struct merging m = {
        .part = part, .n = n, .stem = xcalloc(n + 1, sizeof(char *))};
    int rc = 0;

    curriculum_init(out);
    name_problems(&m);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = merge_add_problem(&m, i, out, e);
    for (size_t i = 0; rc == 0 && i < m.len; i++)
        rc = merge_add_piece(m.draft[i], out, e);
    if (rc == 0)
        rc = curriculum_finish(out, "decomposition", e);
    merging_release(&m);
    return rc;
}

int maker_take(const struct maker *m, struct curriculum *out, struct err *e)
{
    struct merge_part *part = xcalloc(m->len + 1, sizeof(*part));
    int rc;

    for (size_t i = 0; i < m->len; i++)
        part[i] = (struct merge_part){m->item[i].task, m->item[i].answer};
    rc = curriculum_merge(out, part, m->len, e);
    free(part);
    return rc;
}
