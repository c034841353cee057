/* launch.c: the table of launchers, the command line of a worker, and the launcher
 * that leaves it to a person. */
#include "verify/launch_int.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static const struct launch_type *const types[] = {&launch_local, &launch_slurm,
                                                  &launch_none};

struct launch *launch_start(struct loop *l, const struct verifier_opts *o,
                            const char *address, const char *key, struct err *e)
{
    const struct launch_type *t = NULL;
    struct launch *x;

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(types[i]->name, o->launcher) == 0)
            t = types[i];
    if (!t)
        BUG("no launcher is called %s", o->launcher);
    x = xcalloc(1, t->size);
    *x = (struct launch){
        .type = t, .loop = l, .o = o, .address = address, .key = key};
    if (t->start(x, e) == 0)
        return x;
    launch_stop(x);
    return NULL;
}

void launch_tick(struct launch *x, size_t connected)
{
    if (x->type->tick)
        x->type->tick(x, connected);
}

void launch_stop(struct launch *x)
{
    if (!x)
        return;
    if (x->type->stop)
        x->type->stop(x);
    free(x);
}

int launch_argv(const struct launch *x, const char *device,
                const char *children, const char *argv[LAUNCH_WORDS],
                struct err *e)
{
    const struct verifier_opts *o = x->o;
    const char *const words[] = {
        o->home->worker, "--connect",  x->address, "--key",         x->key,
        "--home",        o->home->dir, "--python", o->home->python, "--device",
        device,          "--children", children,   "--box",         o->box};
    size_t n = sizeof(words) / sizeof(words[0]);

    memcpy(argv, words, sizeof(words));
    if (o->unsafe)
        argv[n++] = "--unsafe";
    if (n + 2 * o->packs->len >= LAUNCH_WORDS)
        return err_set(e, ERR_USAGE, "--packs: at most %zu folders",
                       (LAUNCH_WORDS - 1 - n) / 2);
    for (size_t i = 0; i < o->packs->len; i++) {
        argv[n++] = "--packs";
        argv[n++] = o->packs->item[i];
    }
    argv[n] = NULL;
    return 0;
}

/* In single quotes where a shell would see more than a word. */
static void add_quoted(struct buf *b, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./:=,@%+";

    if (*word && strspn(word, plain) == strlen(word)) {
        buf_puts(b, word);
        return;
    }
    buf_puts(b, "'");
    for (; *word; word++)
        if (*word == '\'')
            buf_puts(b, "'\\''");
        else
            buf_put(b, word, 1);
    buf_puts(b, "'");
}

char *launch_line(const char *const *argv)
{
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    for (size_t i = 0; argv[i]; i++) {
        buf_puts(&b, i ? " " : "");
        add_quoted(&b, argv[i]);
    }
    return buf_take(&b, NULL);
}

/* ---- by hand ---- */

static int none_start(struct launch *x, struct err *e)
{
    const char *argv[LAUNCH_WORDS];
    char *line;

    if (launch_argv(x, x->o->device, "0", argv, e) < 0)
        return -1;
    line = launch_line(argv);
    log_info("start workers with: %s", line);
    free(line);
    return 0;
}

const struct launch_type launch_none = {
    .name = "none", .size = sizeof(struct launch), .start = none_start};
