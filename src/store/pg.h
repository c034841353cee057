/* pg.h: a connection to a PostgreSQL server. This folder alone knows libpq; in
 * a program that was built without PG=1, pg_open() refuses.
 *
 * Functions that talk to the server wait for it, with a deadline each. Call
 * them where waiting is fine: from a thread of their own, or from a command
 * that has nothing else to do. An address may have a password, which appears in
 * no message.
 *
 * Errors: ERR_SYSTEM when the server cannot be reached, does not answer in time
 * or cannot serve now, so that trying again later makes sense; ERR_INPUT when
 * it refuses what it is asked; ERR_INTERRUPT after a stop. */
#ifndef STORE_PG_H
#define STORE_PG_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- addresses: postgres://USER:PASSWORD@HOST:PORT/DATABASE?NAME=VALUE ---- */

/* Whether it begins with postgres:// or postgresql://. */
bool pg_is_address(const char *text);
/* Refuses what could be read in two ways, so that it is certain where the
 * password is. */
int pg_check_address(const char *address, struct err *e);
/* The address without its password, also of one that would be refused; any
 * other text as it is. The caller frees it. */
char *pg_shown(const char *address);

/* ---- connections ---- */

struct pg;

/* In a program without PG=1 these are not there: nobody has a connection. */
#define PG_LINKED __attribute__((weak))

/* Whether pg_open() could be tried: the address can be read, and the program
 * was built for it. */
int pg_can_open(const char *address, struct err *e);
/* Once `stop_fd` can be read, all functions return without waiting for the
 * server; -1: never. */
struct pg *pg_open(const char *address, int stop_fd, struct err *e);
void pg_close(struct pg *p); /* may be NULL */
/* After a failure: whether the connection is over. If not, it can be used. */
bool pg_is_lost(const struct pg *p) PG_LINKED;

struct pg_value {
    struct str v; /* p NULL: NULL */
    bool bytes;   /* bytea; else the text of a value */
};
struct pg_rows;

/* Runs one command; $1 is value[0]. Free the rows. */
struct pg_rows *pg_run(struct pg *p, const char *sql,
                       const struct pg_value *value, size_t n,
                       struct err *e) PG_LINKED;
void pg_free(struct pg_rows *r) PG_LINKED; /* may be NULL */
size_t pg_count(const struct pg_rows *r) PG_LINKED;
/* A column as it is stored: bytes, or text; p NULL: NULL. Borrowed. */
struct str pg_cell(const struct pg_rows *r, size_t row, size_t col) PG_LINKED;
/* A bigint; 0 for anything else. */
int64_t pg_number(const struct pg_rows *r, size_t row, size_t col) PG_LINKED;

/* Waits until a notification has come that the connection listens to (1), or
 * until `fd` can be read or `ms` are over (0); -1 when the connection is lost. */
int pg_wait(struct pg *p, int fd, int ms, struct err *e) PG_LINKED;

#endif
