/* selftest.h: a pack's own tests, as docs/PACKS.md describes them: files that
 * must be accepted, files that must hit exactly the rules that are listed for
 * them, messages that must find their hint, and no rule or hint without a
 * test. The seeds' solutions are files that must be accepted, too. */
#ifndef VERIFY_SELFTEST_H
#define VERIFY_SELFTEST_H

#include "pack/pack.h"
#include "pack/schema.h"

#include <stdbool.h>
#include <stddef.h>

/* A line for each failure; true if there are none. Also for a folder of
 * shared rules (pack_load_shared). */
bool selftest_run(const struct pack *p, struct problems *out);

/* Removes a rule and tries the bad files that expect it. Each of them should
 * fail now. Returns how many did; 0 means that no test needs the rule. */
size_t selftest_without(const struct pack *p, enum pack_set set,
                        const char *rule_id, struct problems *out);

#endif
