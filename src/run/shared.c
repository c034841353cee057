/* shared.c: the table of a shared archive. */
#include "run/shared.h"

#include "base/mem.h"
#include "store/pg.h"

#include <stdlib.h>
#include <string.h>

struct shared {
    struct pg *pg;
    bool exists;
};

/* Who adds a kernel holds this lock until its transaction ends, so that
 * versions become visible in their order and without gaps. */
#define LOCK   "SELECT pg_advisory_xact_lock(1836019301, 1)"
#define FORMAT "monkeys archive 1"
#define PAGE   "16"

static int run(struct shared *s, const char *sql, struct err *e)
{
    struct pg_rows *r = pg_run(s->pg, sql, NULL, 0, e);

    pg_free(r);
    return r ? 0 : -1;
}

/* ---- transactions ---- */

static int begin(struct shared *s, struct err *e)
{
    return run(s, "BEGIN", e) < 0 ? -1 : run(s, LOCK, e);
}

/* Keeps the first error. */
static int end(struct shared *s, int rc, struct err *e)
{
    struct err ignored = ERR_INIT;

    if (rc >= 0)
        return run(s, "COMMIT", e) < 0 ? -1 : rc;
    if (!pg_is_lost(s->pg))
        run(s, "ROLLBACK", &ignored);
    return -1;
}

/* ---- opening ---- */

static int look(struct shared *s, struct err *e)
{
    struct pg_rows *r = pg_run(
        s->pg,
        "SELECT to_regclass('monkeys_kernel') IS NOT NULL,"
        " coalesce(obj_description(to_regclass('monkeys_kernel'), 'pg_class'),"
        " '')",
        NULL, 0, e);
    int rc = 0;

    if (!r)
        return -1;
    s->exists = pg_cell(r, 0, 0).n && pg_cell(r, 0, 0).p[0];
    if (s->exists && !str_eq(pg_cell(r, 0, 1), FORMAT))
        rc = err_set(e, ERR_INPUT,
                     "its table monkeys_kernel is not an archive of this "
                     "version of monkeys; use another database");
    pg_free(r);
    return rc;
}

static int create(struct shared *s, struct err *e)
{
    int rc = begin(s, e);

    if (rc == 0)
        rc = look(s, e); /* another run may have been faster */
    if (rc == 0 && !s->exists &&
        (run(s,
             "CREATE TABLE monkeys_kernel ("
             " version bigint PRIMARY KEY,"
             " hash text NOT NULL UNIQUE,"
             " name text NOT NULL,"
             " dsl text NOT NULL,"
             " task_hash text NOT NULL,"
             " task bytea NOT NULL,"
             " sidecar bytea,"
             " plan bytea,"
             " solution bytea NOT NULL,"
             " ported bytea,"
             " meta bytea NOT NULL,"
             " added_at timestamptz NOT NULL DEFAULT now())",
             e) < 0 ||
         run(s,
             "CREATE INDEX monkeys_kernel_task ON monkeys_kernel"
             " (dsl, task_hash)",
             e) < 0 ||
         run(s, "COMMENT ON TABLE monkeys_kernel IS '" FORMAT "'", e) < 0))
        rc = -1;
    rc = end(s, rc, e);
    s->exists = rc == 0;
    return rc;
}

struct shared *shared_open(const char *address, enum shared_mode mode,
                           int stop_fd, struct err *e)
{
    struct shared *s = xcalloc(1, sizeof(*s));

    s->pg = pg_open(address, stop_fd, e);
    if (s->pg && look(s, e) == 0 &&
        (s->exists || mode == SHARED_READ || create(s, e) == 0))
        return s;
    shared_close(s);
    return NULL;
}

void shared_close(struct shared *s)
{
    if (!s)
        return;
    pg_close(s->pg);
    free(s);
}

bool shared_is_lost(const struct shared *s)
{
    return pg_is_lost(s->pg);
}

/* ---- reading ---- */

static struct pg_value number(int64_t n, char out[32])
{
    snprintf(out, 32, "%lld", (long long)n);
    return (struct pg_value){.v = str_of(out)};
}

static int read_version(struct shared *s, int64_t *out, struct err *e)
{
    struct pg_rows *r =
        pg_run(s->pg, "SELECT coalesce(max(version), 0) FROM monkeys_kernel",
               NULL, 0, e);

    if (!r)
        return -1;
    *out = pg_number(r, 0, 0);
    pg_free(r);
    return 0;
}

/* Borrows the cells. */
static struct shared_row row_at(const struct pg_rows *r, size_t i)
{
    struct str hash = pg_cell(r, i, 1);
    struct shared_row row = {.name = pg_cell(r, i, 2),
                             .dsl = pg_cell(r, i, 3),
                             .task = pg_cell(r, i, 4),
                             .sidecar = pg_cell(r, i, 5),
                             .plan = pg_cell(r, i, 6),
                             .solution = pg_cell(r, i, 7),
                             .ported = pg_cell(r, i, 8),
                             .meta = pg_cell(r, i, 9)};

    if (hash.n < HASH_HEX)
        memcpy(row.hash, hash.p, hash.n);
    return row;
}

static int tell(const struct pg_rows *r, size_t i, shared_fn *fn, void *arg,
                struct err *e)
{
    struct shared_row row = row_at(r, i);
    struct err why = ERR_INIT;
    struct kernel k;
    int rc;

    if (shared_kernel_of(&row, &k, &why) < 0)
        return fn(NULL, pg_number(r, i, 0), &why, arg, e);
    rc = fn(&k, pg_number(r, i, 0), NULL, arg, e);
    kernel_release(&k);
    return rc;
}

/* A row that is too long is not sent: its task is NULL. */
static struct pg_rows *read_page(struct shared *s, const char *dsl,
                                 int64_t after, int64_t until, struct err *e)
{
    char from[32], to[32];
    struct pg_value v[3] = {number(after, from),
                            number(until, to),
                            {.v = dsl ? str_of(dsl) : (struct str){0}}};

    return pg_run(
        s->pg,
        "SELECT version, hash, name, dsl, CASE WHEN short THEN task END,"
        " CASE WHEN short THEN sidecar END, CASE WHEN short THEN plan END,"
        " CASE WHEN short THEN solution END, CASE WHEN short THEN ported END,"
        " CASE WHEN short THEN meta END"
        " FROM (SELECT *, octet_length(task) + octet_length(solution)"
        "  + octet_length(meta) + coalesce(octet_length(sidecar), 0)"
        "  + coalesce(octet_length(plan), 0)"
        "  + coalesce(octet_length(ported), 0) < 30000000 AS short"
        "  FROM monkeys_kernel) AS k"
        " WHERE version > $1::bigint AND version <= $2::bigint"
        " AND ($3::text IS NULL OR dsl = $3::text OR dsl = '')"
        " ORDER BY version LIMIT " PAGE,
        v, 3, e);
}

int shared_each(struct shared *s, struct shared_range *range, shared_fn *fn,
                void *arg, struct err *e)
{
    int64_t after = range->after;
    size_t n = 1;
    int rc = 0;

    if (!s->exists && range->until == SHARED_NEWEST)
        range->until = 0;
    if (range->until == SHARED_NEWEST && read_version(s, &range->until, e) < 0)
        return -1;
    while (rc == 0 && n > 0 && after < range->until) {
        struct pg_rows *r = read_page(s, range->dsl, after, range->until, e);

        if (!r)
            return -1;
        n = pg_count(r);
        for (size_t i = 0; rc == 0 && i < n; i++) {
            after = pg_number(r, i, 0);
            rc = tell(r, i, fn, arg, e);
        }
        pg_free(r);
    }
    return rc;
}

/* ---- adding ---- */

static int insert(struct shared *s, const struct shared_row *r, struct err *e)
{
    struct pg_value v[] = {
        {str_of(r->hash), false}, {r->name, false},
        {r->dsl, false},          {str_of(r->task_hash), false},
        {r->task, true},          {r->sidecar, true},
        {r->plan, true},          {r->solution, true},
        {r->ported, true},        {r->meta, true}};
    struct pg_rows *rows = pg_run(
        s->pg,
        "WITH new AS (INSERT INTO monkeys_kernel (version, hash, name, dsl,"
        " task_hash, task, sidecar, plan, solution, ported, meta)"
        " SELECT coalesce(max(version), 0) + 1, $1::text, $2::text, $3::text,"
        " $4::text, $5::bytea, $6::bytea, $7::bytea, $8::bytea, $9::bytea,"
        " $10::bytea FROM monkeys_kernel ON CONFLICT (hash) DO NOTHING"
        " RETURNING version)"
        " SELECT pg_notify('monkeys_archive', version::text) FROM new",
        v, sizeof(v) / sizeof(v[0]), e);
    int added;

    if (!rows)
        return -1;
    added = pg_count(rows) > 0;
    pg_free(rows);
    return added;
}

static int has(struct shared *s, const char *sql, const char *a, const char *b,
               struct err *e)
{
    struct pg_value v[2] = {{.v = str_of(a)}, {.v = str_of(b ? b : "")}};
    struct pg_rows *r = pg_run(s->pg, sql, v, b ? 2 : 1, e);
    int found;

    if (!r)
        return -1;
    found = pg_count(r) > 0;
    pg_free(r);
    return found;
}

/* What was sent before is asked for first: a run that is continued offers all
 * its kernels again. */
int shared_add(struct shared *s, const struct shared_row *r, struct err *e)
{
    int rc = has(s, "SELECT 1 FROM monkeys_kernel WHERE hash = $1::text",
                 r->hash, NULL, e);

    if (rc != 0)
        return rc < 0 ? -1 : 0;
    rc = begin(s, e);
    if (rc == 0)
        rc = insert(s, r, e);
    return end(s, rc, e);
}

int shared_knows(struct shared *s, const char *dsl, const char *task_hash,
                 struct err *e)
{
    if (!s->exists)
        return 0;
    return has(s,
               "SELECT 1 FROM monkeys_kernel WHERE dsl = $1::text"
               " AND task_hash = $2::text LIMIT 1",
               dsl, task_hash, e);
}

int shared_listen(struct shared *s, struct err *e)
{
    return run(s, "LISTEN monkeys_archive", e);
}

int shared_wait(struct shared *s, int fd, int ms, struct err *e)
{
    return pg_wait(s->pg, fd, ms, e);
}
