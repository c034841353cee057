/* pack_fixture.h: packs in a temporary folder, written as strings. */
#ifndef TESTS_PACK_FIXTURE_H
#define TESTS_PACK_FIXTURE_H

#include "pack/pack.h"
#include "pack/schema.h"

struct fixture {
    char *root; /* holds common/ and the pack demo/ */
    char *demo;
    const char *dirs[1];
    struct pack_path path;
};

/* A root with a complete small pack `demo` that extends common/default.json
 * and common/paper.json. */
void fixture_open(struct fixture *f);
/* Writes a file under the root, with the folders it needs. */
void fixture_write(const struct fixture *f, const char *name, const char *text);
void fixture_remove(const struct fixture *f, const char *name);
/* As fixture_write, but of demo's file `name` only the first `from` becomes
 * `to`. */
void fixture_edit(const struct fixture *f, const char *name, const char *from,
                  const char *to);

/* Whether one of the lines contains `text`; says them all when none does. */
bool problems_have(const struct problems *p, const char *text);

#endif
