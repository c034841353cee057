/* pg.c: libpq with deadlines: it never blocks, and poll() does the waiting. */
#include "store/pg.h"

#include "base/mem.h"
#include "base/tick.h"

#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONNECT_NS (10 * TICK_S)
#define COMMAND_NS (20 * TICK_S)
#define MAX_VALUES 16

struct pg {
    PGconn *conn;
    int stop_fd;
    bool lost;
    char *shown; /* for messages */
};

struct pg_rows {
    PGresult *result;
};

static int lose(struct pg *p, struct err *e, const char *why)
{
    p->lost = true;
    return err_set(e, ERR_SYSTEM, "%s: %s", p->shown, why);
}

/* The first line of what libpq says, which is enough. */
static void pg_first_line(const char *text, char *out, size_t size)
{
    size_t n = strcspn(text, "\n");

    snprintf(out, size, "%.*s", (int)(n < size ? n : size - 1), text);
}

/* Waits for `events` of the connection, or until `until`. 1: they are there. */
static int pg_wait_for(struct pg *p, short events, int64_t until, struct err *e)
{
    struct pollfd fds[2] = {{.fd = PQsocket(p->conn), .events = events},
                            {.fd = p->stop_fd, .events = POLLIN}};
    int64_t left;
    int n;

    do {
        left = (until - tick_now_ns() + TICK_MS - 1) / TICK_MS;
        n = poll(fds, 2, left > 0 ? (int)left : 0);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_sys(e, "poll");
    if (fds[1].revents) {
        p->lost = true;
        return err_set(e, ERR_INTERRUPT, "stopped");
    }
    if (n == 0)
        return lose(p, e, "no answer in time");
    return 0;
}

/* ---- connecting ---- */

static void ignore(void *arg, const char *message)
{
    (void)arg;
    (void)message;
}

/* A server that answers and refuses has said FATAL; some of these refusals
 * pass. */
static enum err_kind kind_of_refusal(const char *why)
{
    static const char *const passing[] = {"starting up", "shutting down",
                                          "recovery mode", "too many"};

    if (!strstr(why, "FATAL") && !strstr(why, "fe_sendauth"))
        return ERR_SYSTEM;
    for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++)
        if (strstr(why, passing[i]))
            return ERR_SYSTEM;
    return ERR_INPUT;
}

static int refused(struct pg *p, struct err *e)
{
    char why[512];
    const char *text = PQerrorMessage(p->conn);
    enum err_kind kind = kind_of_refusal(text);

    pg_first_line(text, why, sizeof(why));
    p->lost = true;
    return err_set(e, kind, "%s: %s%s", p->shown, why,
                   PQconnectionNeedsPassword(p->conn)
                       ? "; put the password into ~/.pgpass or PGPASSWORD"
                       : "");
}

static int finish_connecting(struct pg *p, struct err *e)
{
    int64_t until = tick_now_ns() + CONNECT_NS;
    PostgresPollingStatusType next = PGRES_POLLING_WRITING;

    while (next == PGRES_POLLING_READING || next == PGRES_POLLING_WRITING) {
        if (pg_wait_for(p, next == PGRES_POLLING_READING ? POLLIN : POLLOUT,
                        until, e) < 0)
            return -1;
        next = PQconnectPoll(p->conn);
    }
    if (next != PGRES_POLLING_OK)
        return refused(p, e);
    return 0;
}

/* What libpq says about an address that it cannot read may quote it. */
int pg_can_open(const char *address, struct err *e)
{
    PQconninfoOption *parsed;
    char *shown;

    if (pg_check_address(address, e) < 0)
        return -1;
    parsed = PQconninfoParse(address, NULL);
    if (parsed) {
        PQconninfoFree(parsed);
        return 0;
    }
    shown = pg_shown(address);
    err_set(e, ERR_USAGE,
            "%s: not an address of a server; one looks like "
            "postgres://USER@HOST:PORT/DATABASE",
            shown);
    free(shown);
    return -1;
}

/* A host that has gone away is noticed within half a minute. */
static int pg_start(struct pg *p, const char *address, struct err *e)
{
    const char *const name[] = {"dbname",
                                "fallback_application_name",
                                "client_encoding",
                                "keepalives_idle",
                                "keepalives_interval",
                                "keepalives_count",
                                "tcp_user_timeout",
                                NULL};
    const char *const value[] = {address, "monkeys", "UTF8",  "10",
                                 "5",     "3",       "20000", NULL};

    if (pg_can_open(address, e) < 0)
        return -1;
    p->conn = PQconnectStartParams(name, value, 1);
    if (!p->conn)
        BUG("out of memory");
    PQsetNoticeProcessor(p->conn, ignore, NULL);
    if (PQstatus(p->conn) == CONNECTION_BAD)
        return refused(p, e);
    return finish_connecting(p, e);
}

struct pg *pg_open(const char *address, int stop_fd, struct err *e)
{
    struct pg *p = xcalloc(1, sizeof(*p));

    p->stop_fd = stop_fd;
    p->shown = pg_shown(address);
    if (pg_start(p, address, e) == 0 && PQsetnonblocking(p->conn, 1) == 0)
        return p;
    pg_close(p);
    return NULL;
}

void pg_close(struct pg *p)
{
    if (!p)
        return;
    PQfinish(p->conn);
    free(p->shown);
    free(p);
}

bool pg_is_lost(const struct pg *p)
{
    return p->lost;
}

/* ---- commands ---- */

static int lost_with(struct pg *p, struct err *e)
{
    char why[512];

    pg_first_line(PQerrorMessage(p->conn), why, sizeof(why));
    return lose(p, e, why[0] ? why : "the connection has ended");
}

static int finish_command(struct pg *p, struct err *e)
{
    int64_t until = tick_now_ns() + COMMAND_NS;

    for (;;) {
        int more = PQflush(p->conn);

        if (more < 0)
            return lost_with(p, e);
        if (!more && !PQisBusy(p->conn))
            return 0;
        if (pg_wait_for(p, (short)(more ? POLLIN | POLLOUT : POLLIN), until,
                        e) < 0)
            return -1;
        if (!PQconsumeInput(p->conn))
            return lost_with(p, e);
    }
}

/* The classes of SQLSTATE after which another try may succeed: connection,
 * rollback, resources, intervention, system. */
static bool may_pass(const char *state)
{
    static const char *const classes[] = {"08", "40", "53", "55", "57", "58"};

    for (size_t i = 0; state && i < sizeof(classes) / sizeof(classes[0]); i++)
        if (strncmp(state, classes[i], 2) == 0)
            return true;
    return false;
}

static int failed(struct pg *p, const PGresult *r, struct err *e)
{
    const char *primary = PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);
    char why[512];

    if (PQstatus(p->conn) == CONNECTION_BAD)
        return lost_with(p, e);
    pg_first_line(primary ? primary : PQresultErrorMessage(r), why,
                  sizeof(why));
    return err_set(e,
                   may_pass(PQresultErrorField(r, PG_DIAG_SQLSTATE))
                       ? ERR_SYSTEM
                       : ERR_INPUT,
                   "%s: %s", p->shown, why);
}

/* The last result counts; there is one, unless the connection broke. */
static struct pg_rows *take_result(struct pg *p, struct err *e)
{
    PGresult *r = NULL, *next;
    struct pg_rows *rows;
    ExecStatusType how;

    for (;;) {
        if (finish_command(p, e) < 0) {
            PQclear(r);
            return NULL;
        }
        next = PQgetResult(p->conn);
        if (!next)
            break;
        PQclear(r);
        r = next;
    }
    how = PQresultStatus(r);
    if (!r || (how != PGRES_TUPLES_OK && how != PGRES_COMMAND_OK)) {
        failed(p, r, e);
        PQclear(r);
        return NULL;
    }
    rows = xmalloc(sizeof(*rows));
    rows->result = r;
    return rows;
}

struct pg_rows *pg_run(struct pg *p, const char *sql,
                       const struct pg_value *value, size_t n, struct err *e)
{
    const char *v[MAX_VALUES] = {0};
    int length[MAX_VALUES] = {0}, format[MAX_VALUES] = {0};
    char *text[MAX_VALUES] = {0};
    int sent;

    if (n > MAX_VALUES)
        BUG("%zu values", n);
    for (size_t i = 0; i < n; i++) {
        struct str s = value[i].v;

        if (s.p && !value[i].bytes) /* libpq wants a NUL at the end */
            s.p = text[i] = xstrndup(s.p, s.n);
        v[i] = s.p;
        length[i] = (int)s.n;
        format[i] = value[i].bytes;
    }
    sent = PQsendQueryParams(p->conn, sql, (int)n, NULL, v, length, format, 1);
    for (size_t i = 0; i < n; i++)
        free(text[i]);
    if (!sent) {
        lost_with(p, e);
        return NULL;
    }
    return take_result(p, e);
}

void pg_free(struct pg_rows *r)
{
    if (!r)
        return;
    PQclear(r->result);
    free(r);
}

size_t pg_count(const struct pg_rows *r)
{
    return (size_t)PQntuples(r->result);
}

struct str pg_cell(const struct pg_rows *r, size_t row, size_t col)
{
    if (PQgetisnull(r->result, (int)row, (int)col))
        return (struct str){0};
    return (struct str){PQgetvalue(r->result, (int)row, (int)col),
                        (size_t)PQgetlength(r->result, (int)row, (int)col)};
}

int64_t pg_number(const struct pg_rows *r, size_t row, size_t col)
{
    struct str s = pg_cell(r, row, col);
    uint64_t n = 0;

    for (size_t i = 0; s.n == 8 && i < 8; i++)
        n = n << 8 | (unsigned char)s.p[i];
    return (int64_t)n;
}

/* ---- notifications ---- */

static bool take_notifications(struct pg *p)
{
    PGnotify *n;
    bool any = false;

    while ((n = PQnotifies(p->conn))) {
        any = true;
        PQfreemem(n);
    }
    return any;
}

int pg_wait(struct pg *p, int fd, int ms, struct err *e)
{
    struct pollfd fds[3] = {{.fd = PQsocket(p->conn), .events = POLLIN},
                            {.fd = fd, .events = POLLIN},
                            {.fd = p->stop_fd, .events = POLLIN}};

    if (take_notifications(p)) /* came with the answer to a command */
        return 1;
    if (poll(fds, 3, ms) < 0 && errno != EINTR)
        return err_sys(e, "poll");
    if (fds[0].revents && !PQconsumeInput(p->conn))
        return lost_with(p, e);
    return take_notifications(p);
}
