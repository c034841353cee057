/* programs.h: what queries may ask about stored programs, prompts and records. A text
 * is named by the number of its run and its hash. */
#ifndef ANALYZE_PROGRAMS_H
#define ANALYZE_PROGRAMS_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "store/store.h"

struct sqlite3;

/* Its name is that of its folder, made different from the others'. */
struct programs_run {
    struct store *store;
    const char *dir, *name;
    long pid; /* while it runs, else 0 */
};

struct programs {
    const struct programs_run *run; /* by number */
    struct map words;               /* by hash: a program is read once */
    struct arena memory;
};
void programs_init(struct programs *p, const struct programs_run *run);
void programs_release(struct programs *p);

/* Adds to a database the functions that programs.c lists. `p` stays where it is. */
void programs_functions(struct programs *p, struct sqlite3 *db);

/* Appends a stored text; nothing without a hash. */
int programs_text(const struct programs *p, int64_t nr, const char *hash,
                  struct buf *out, struct err *e);

#endif
