/* backend.c: the table of back ends. */
#include "verify/backend.h"

#include "base/buf.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static const struct backend_type *const types[] = {&backend_local, &backend_tcp,
                                                   &backend_jobs};
/* Where workers connect to if nobody says. */
#define LOOPBACK "tcp=127.0.0.1:0"
#define TYPES    (sizeof(types) / sizeof(types[0]))

/* The operand of `word` if it names this type ("" if the type takes none), or
 * NULL. */
static const char *operand_of(const struct backend_type *t, const char *word)
{
    size_t n = strlen(t->name);

    if (strncmp(word, t->name, n) != 0)
        return NULL;
    if (!t->operand)
        return word[n] ? NULL : "";
    return word[n] == '=' && word[n + 1] ? word + n + 1 : NULL;
}

static int refuse(const char *word, struct err *e)
{
    struct buf b;
    int rc;

    buf_init(&b, BUF_UNLIMITED);
    for (size_t i = 0; i < TYPES; i++)
        buf_printf(&b, "%s%s%s%s", i ? " or " : "", types[i]->name,
                   types[i]->operand ? "=" : "",
                   types[i]->operand ? types[i]->operand : "");
    rc = err_set(e, ERR_USAGE, "--verifier: '%s' is not %s", word, buf_str(&b));
    buf_release(&b);
    return rc;
}

/* One worker that we start ourselves needs no address; others do. */
static const char *choose(const struct verifier_opts *o)
{
    bool plain =
        (!o->launcher || strcmp(o->launcher, "local") == 0) && o->workers <= 1;

    if (strcmp(o->verifier, backend_local.name) != 0 || plain)
        return o->verifier;
    return LOOPBACK;
}

struct backend *backend_open(struct loop *l, const struct verifier_opts *o,
                             backend_fn *fn, void *arg, struct err *e)
{
    const char *operand = NULL, *verifier = choose(o);
    struct backend *b;
    size_t i = 0;

    while (i < TYPES && !(operand = operand_of(types[i], verifier)))
        i++;
    if (i == TYPES) {
        refuse(verifier, e);
        return NULL;
    }
    b = xcalloc(1, types[i]->size);
    b->type = types[i];
    b->loop = l;
    b->o = o;
    b->fn = fn;
    b->arg = arg;
    if (hash_secret_hex(b->secret, e) < 0) {
        free(b);
        return NULL;
    }
    if (b->type->open(b, operand, e) == 0)
        return b;
    backend_close(b);
    return NULL;
}

void backend_close(struct backend *b)
{
    b->type->close(b);
    free(b);
}

void backend_answer(struct backend *b, void *job, const json_t *answer,
                    const char *why)
{
    b->pending--;
    b->fn(job, answer, why, b->arg);
}
