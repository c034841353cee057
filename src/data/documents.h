/* documents.h: how many tokens the documents of a language are: those that the
 * `sources.json` of its pack names, fetched into a folder by the user. */
#ifndef DATA_DOCUMENTS_H
#define DATA_DOCUMENTS_H

#include "base/arena.h"
#include "base/err.h"
#include "data/tally.h"

#include <stddef.h>

struct document_source {
    const char *repo, *commit;
    struct tally sum;
    const char **missing; /* paths that are not in the folder */
    size_t missing_len, missing_cap;
};

struct documents {
    struct document_source *item; /* in the order of the file */
    size_t len;
    struct tally total;
    size_t missing;
    struct arena memory;
};

/* The documents of https://host/OWNER/NAME are in ROOT/OWNER/NAME or in ROOT/NAME; a
 * path is a file, or a folder with all below it. A path that two sources name
 * counts once for each. Release in any case. */
int documents_count(struct documents *d, const char *sources, const char *root,
                    struct tokenizer *t, struct err *e);
void documents_release(struct documents *d);

#endif
