/* mock.c: a run around rules. */
#include "mock.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/tick.h"
#include "run/kernel.h"
#include "search/embed.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct search_opts mock_opts = {.method = "monkeys",
                                      .retrieval = "alternating",
                                      .order = "strict",
                                      .precision = "fp32",
                                      .device = "cpu",
                                      .seed = 1,
                                      .attempts = 5,
                                      .examples = 3,
                                      .batch = 4,
                                      .slots = 4,
                                      .phase = {1, 2, 2},
                                      .islands = 1,
                                      .history = 3,
                                      .reviewer = "off",
                                      .threshold = 0.7};

bool mock_solves(const char *task, int attempt)
{
    struct rng r;

    rng_init(&r, "solves/%s/%d", task, attempt);
    return rng_below(&r, 3) == 0;
}

/* ---- the model ---- */

struct mock_provider {
    struct provider p; /* first */
    struct mock *m;
};

struct mock_send {
    struct send base;
    struct mock *m;
    uint64_t timer;
    enum send_outcome outcome;
    struct buf text;
};

static void reply_by_default(const struct llm_request *r, struct buf *out)
{
    if (strcmp(r->key.stage, "plan") == 0)
        buf_printf(out, "A plan for %s, attempt %d.\n", r->key.task,
                   r->key.attempt);
    else
        buf_printf(out,
                   "```python\nclass ModelNew:\n    task = \"%s\"\n"
                   "    attempt = %d\n```\n",
                   r->key.task, r->key.attempt);
}

static void on_answer(void *arg)
{
    struct mock_send *s = arg;
    struct buf text = s->text;
    struct send_result r = {.outcome = s->outcome,
                            .text = {buf_str(&text), text.len},
                            .model = STR_LIT("mock"),
                            .usage = {.input = 100, .output = 50},
                            .error = s->outcome == SEND_ANSWERED ? "" : "mock"};

    s->m->sending--;
    send_end(&s->base, &r);
    buf_release(&text);
}

static struct send *mock_send(struct provider *p, const struct llm_request *r,
                              send_fn *fn, void *arg, struct err *e)
{
    struct mock *m = ((struct mock_provider *)p)->m;
    struct mock_send *s = send_new(sizeof(*s), p, fn, arg);

    (void)e;
    s->m = m;
    buf_init(&s->text, BUF_UNLIMITED);
    s->outcome =
        m->rule.outcome ? m->rule.outcome(r, m->rule.arg) : SEND_ANSWERED;
    if (m->rule.reply)
        m->rule.reply(r, &s->text, m->rule.arg);
    else
        reply_by_default(r, &s->text);
    m->asked++;
    if (++m->sending > m->peak)
        m->peak = m->sending;
    s->timer = loop_add_timer(m->loop, tick_now_ns() + m->rule.latency_ns,
                              on_answer, s);
    return &s->base;
}

static void mock_cancel(struct send *send)
{
    struct mock_send *s = (struct mock_send *)send;

    loop_remove(s->m->loop, s->timer);
    s->m->sending--;
    buf_release(&s->text);
    send_free(send);
}

static void mock_provider_close(struct provider *p)
{
    free(p);
}

static const struct provider_type mock_type = {.name = "mock",
                                               .close = mock_provider_close,
                                               .send = mock_send,
                                               .cancel = mock_cancel};

/* ---- the verifier ---- */

static json_t *mock_judge(const struct candidate *c, void *arg)
{
    struct mock *m = arg;
    int attempt = (int)c->attempt;
    const char *verdict =
        m->rule.judge ? m->rule.judge(c->task, c->code, attempt, m->rule.arg)
        : mock_solves(c->task->id, attempt) ? "correct"
                                            : "wrong_values";
    bool right = strcmp(verdict, "correct") == 0;
    json_t *record = json_pack(
        "{s:s, s:n, s:s, s:b, s:b, s:s, s:s, s:{s:f}, s:{s:{s:f}, s:{s:f}}}",
        "verdict", verdict, "rule", "stage", right ? "done" : "trials",
        "compiled", 1, "kernelbench_pass", right, "evidence",
        right ? "E3" : "E0", "feedback", right ? "" : "the values are wrong",
        "times_ms", "total", (double)tick_now_ns(), "timing", "ms", "median",
        1.0 + attempt, "reference_ms", "median", 8.0);

    m->judged++;
    if (!m->rule.dead_after || m->judged <= m->rule.dead_after)
        return record;
    json_decref(record);
    return NULL;
}

/* ---- the world around them ---- */

static const char *const families[] = {
    "torch.relu(x) + %d",          "torch.softmax(x * %d, dim=-1)",
    "x.sum(dim=-1) * %d",          "torch.matmul(x, x.transpose(0, 1)) + %d",
    "torch.cumsum(x, dim=1) * %d", "nn.functional.gelu(x - %d)",
};

int mock_tasks(const char *dir, size_t n, struct err *e)
{
    char *folder = fs_join(dir, "tasks"), body[128], name[32];
    struct buf b = BUF_INIT;
    int rc = fs_mkdirs(folder, e);

    for (size_t i = 0; rc == 0 && i < n; i++) {
        size_t f = i % (sizeof(families) / sizeof(families[0]));
        char *path;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(body, sizeof(body), families[f], (int)i);
#pragma GCC diagnostic pop
        buf_reset(&b);
        buf_printf(&b,
                   "import torch\nimport torch.nn as nn\n\n\n"
                   "class Model(nn.Module):\n    def forward(self, x):\n"
                   "        return %s\n\n\n"
                   "def get_inputs():\n    return [torch.rand(8, 16)]\n\n\n"
                   "def get_init_inputs():\n    return []\n",
                   body);
        snprintf(name, sizeof(name), "t%05zu.py", i);
        path = fs_join(folder, name);
        rc = fs_replace(path, buf_str(&b), b.len, e);
        free(path);
    }
    buf_release(&b);
    free(folder);
    return rc;
}

#define PIECE(of, level_, fineness_, depth_, needs_, need_count_)      \
    {                                                                  \
        .kind = "partition", .level = (level_), .title = "a piece",    \
        .fineness = (fineness_), .depth = (depth_), .needs = (needs_), \
        .need_count = (need_count_), .parents = (of),                  \
        .parent_count = sizeof(of) / sizeof(size_t)                    \
    }
static const size_t of_0[] = {0}, of_1[] = {1}, of_both[] = {0, 1},
                    needs_3[] = {3}, needs_4[] = {4};
const struct search_piece mock_pieces[MOCK_PIECES] = {
    PIECE(of_0, "coarse", 0, 0, NULL, 0),
    PIECE(of_0, "coarse", 0, 1, needs_3, 1),
    PIECE(of_both, "coarse", 0, 2, needs_4, 1),
    PIECE(of_0, "medium", 1, 0, NULL, 0),
    PIECE(of_0, "fine", 2, 0, NULL, 0),
    PIECE(of_1, "medium", 1, 0, NULL, 0),
};

static int load_pack(struct mock *m, struct err *e)
{
    static const char *const dirs[] = {"packs"};
    struct pack_path path = {dirs, 1};
    struct problems problems;

    problems_init(&problems);
    m->pack = pack_load(&path, "packs/c-cpu", &problems);
    problems_release(&problems);
    return m->pack ? 0 : err_set(e, ERR_INPUT, "packs/c-cpu cannot be loaded");
}

static int add_seeds(struct mock *m, struct embed *x, struct err *e)
{
    float v[EMBED_DIM];

    for (size_t i = 0; i < m->pack->seed_count; i++) {
        struct kernel k;
        struct search_example s = {.origin = "seed", .evidence = "E3"};

        if (kernel_read(m->pack->seed[i].dir, &k, e) < 0)
            return -1;
        s.name = k.name;
        s.task_hash = k.task->hash;
        s.problem = (struct str){k.task->source, k.task->len};
        s.plan = k.plan;
        s.solution = k.solution;
        s.ops = k.task->ops;
        s.vector = v;
        embed_vector(x, s.problem, v);
        search_add_example(m->search, &s);
        kernel_release(&k);
    }
    return 0;
}

static int fill(struct mock *m, struct err *e)
{
    struct embed *x = embed_new();
    float v[EMBED_DIM];
    int rc;

    for (size_t i = 0; i < m->tasks.len; i++)
        embed_learn(
            x, (struct str){m->tasks.task[i]->source, m->tasks.task[i]->len});
    rc = add_seeds(m, x, e);
    for (size_t i = 0; rc == 0 && i < m->tasks.len; i++) {
        const struct task *t = m->tasks.task[i];

        embed_vector(x, (struct str){t->source, t->len}, v);
        if (i + m->pieces < m->tasks.len)
            search_add_task(m->search, t, NULL, v);
        else
            search_add_piece(m->search, t, NULL, v,
                             &m->piece[i + m->pieces - m->tasks.len]);
    }
    embed_free(x);
    return rc;
}

static int open_files(struct mock *m, const char *dir, struct err *e)
{
    char *folder = fs_join(dir, "tasks"), *db = fs_join(dir, "run.db");
    const char *word = folder;
    int rc = collection_add(&m->tasks, &word, 1, "tasks", e);

    if (rc == 0) {
        m->store =
            store_open(db, fs_is_file(db) ? STORE_OPEN : STORE_NEW, m->loop, e);
        m->prompts = prompts_load("prompts", e);
        rc = m->store && m->prompts ? load_pack(m, e) : -1;
    }
    free(folder);
    free(db);
    return rc;
}

static struct provider *open_provider(struct mock *m, struct err *e)
{
    struct mock_provider *p;
    struct provider *spool;

    if (!m->spool) {
        p = xcalloc(1, sizeof(*p));
        *p = (struct mock_provider){.p.type = &mock_type, .m = m};
        return &p->p;
    }
    m->opts = (struct llm_opts){.folder = m->spool, .temperature = -1};
    spool = provider_spool.open(&provider_spool, m->loop, &m->opts, e);
    if (!spool)
        BUG("%s", e->text);
    return spool;
}

int mock_open(struct mock *m, const char *dir, const struct search_opts *o,
              int64_t in_flight, struct err *e)
{
    struct llm_rules rules = llm_default_rules;
    struct search_parts part;

    rules.in_flight = in_flight;
    rules.max_tokens = 1000;
    rules.backoff_base_ns = rules.backoff_cap_ns = TICK_MS;
    rules.pause_after = 0;
    m->loop = loop_new(e);
    if (!m->budget.cap.tokens)
        budget_init(&m->budget,
                    (struct llm_cost){BUDGET_NO_CAP, BUDGET_NO_CAP});
    m->llm =
        llm_new(m->loop, open_provider(m, e), &rules, &m->price, &m->budget);
    m->verifier = verifier_fake(mock_judge, m);
    if (open_files(m, dir, e) < 0)
        return -1;
    m->ledger =
        ledger_open(&(struct ledger_parts){m->loop, m->store, &m->budget,
                                           llm_is_patient(m->llm)},
                    e);
    if (!m->ledger)
        return -1;
    part = (struct search_parts){.loop = m->loop,
                                 .store = m->store,
                                 .ledger = m->ledger,
                                 .llm = m->llm,
                                 .model = "mock",
                                 .budget = &m->budget,
                                 .prompts = m->prompts,
                                 .pack = m->pack,
                                 .verifier = m->verifier,
                                 .dim = EMBED_DIM,
                                 .shared = m->shared};
    m->search = search_new(&part, o);
    return fill(m, e);
}

int mock_run(struct mock *m, enum search_end *end, struct err *e)
{
    if (search_run(m->search, end, e) < 0)
        return -1;
    return store_sync(m->store, e);
}

int mock_close(struct mock *m, struct err *e)
{
    int rc = 0;

    if (m->search)
        search_free(m->search);
    ledger_close(m->ledger);
    verifier_close(m->verifier);
    llm_close(m->llm);
    if (m->store)
        rc = store_close(m->store, e);
    if (m->prompts)
        prompts_free(m->prompts);
    if (m->pack)
        pack_free(m->pack);
    collection_release(&m->tasks);
    loop_free(m->loop);
    return rc;
}

/* ---- tables as text ---- */

static int dump_attempt(const void *row, void *arg)
{
    const struct row_attempt *r = row;

    buf_printf(
        arg,
        "attempt %lld %lld %s %lld %lld %lld %s %lld %lld %s %s %s %s "
        "%s %s %.17g %lld %d\n",
        (long long)r->task, (long long)r->attempt, r->method,
        (long long)r->iteration, (long long)r->batch,
        (long long)r->archive_version, r->retrieval, (long long)r->parent,
        (long long)r->island, r->plan ? r->plan : "-", r->code ? r->code : "-",
        r->code_hash ? r->code_hash : "-", r->stage, r->verdict,
        r->rule ? r->rule : "-", r->fitness, (long long)r->same_as, r->solved);
    return 0;
}

static int dump_shown(const void *row, void *arg)
{
    const struct row_shown *r = row;

    buf_printf(arg, "shown %lld %lld %lld %lld %.17g %s\n", (long long)r->task,
               (long long)r->attempt, (long long)r->rank, (long long)r->entry,
               r->cosine, r->reason ? r->reason : "-");
    return 0;
}

static int dump_entry(const void *row, void *arg)
{
    const struct row_entry *r = row;

    buf_printf(arg, "entry %lld %lld %s %lld %lld %s %s %s %s %s %lld\n",
               (long long)r->entry, (long long)r->version, r->origin,
               (long long)r->task, (long long)r->attempt, r->name, r->task_hash,
               r->problem, r->plan ? r->plan : "-", r->solution,
               (long long)r->withdrawn);
    return 0;
}

int mock_dump(struct store *s, struct buf *out, struct err *e)
{
    if (store_each(s, STORE_ATTEMPTS, dump_attempt, out, e) != 0 ||
        store_each(s, STORE_SHOWN, dump_shown, out, e) != 0)
        return -1;
    return store_each(s, STORE_ENTRIES, dump_entry, out, e);
}
