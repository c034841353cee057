/* cmd_help.c: monkeys help [COMMAND]. */
#include "cmd/cmd.h"

#include <stdio.h>
#include <string.h>

struct help_values {
    bool mdoc;
};

#define VALUES struct help_values
static const struct opt help_table[] = {
    {"mdoc", 0, OPT_FLAG, NULL, "print the generated part of the manual",
     AT(mdoc)},
    {0},
};

/* Every command whose name is the word or starts with it. */
static int help_on(const char *first, struct buf *out)
{
    size_t n = strlen(first);
    int found = 0;

    for (size_t i = 0; cmd_list[i]; i++) {
        const char *name = cmd_list[i]->name;

        if (strncmp(name, first, n) != 0 || (name[n] && name[n] != ' '))
            continue;
        if (found++)
            buf_putc(out, '\n');
        cmd_help_one(cmd_list[i], out);
    }
    return found;
}

static int help_put(const struct cmd_call *call, struct buf *out, struct err *e)
{
    const struct help_values *v = call->values;
    const char **words = call->r.rest;
    int used, n = (int)call->r.rest_len;
    const struct cmd *one;

    if (v->mdoc)
        cmd_mdoc(out);
    else if (n == 0)
        cmd_help_all(out);
    else if (n > 1) {
        one = cmd_find(n, (char **)words, &used, e);
        if (!one)
            return -1;
        cmd_help_one(one, out);
    } else if (!help_on(words[0], out)) {
        cmd_find(n, (char **)words, &used, e);
        return -1;
    }
    return 0;
}

static int help_run(struct cmd_call *call, struct err *e)
{
    struct buf out = BUF_INIT;
    int rc;

    rc = help_put(call, &out, e);
    fputs(buf_str(&out), stdout);
    buf_release(&out);
    return rc;
}

const struct cmd cmd_help = {
    "help",
    "[COMMAND]",
    "show the commands, or the help of one",
    NULL,
    help_table,
    help_run,
    sizeof(struct help_values),
    NULL,
};
