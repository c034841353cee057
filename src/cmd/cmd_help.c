/* cmd_help.c: monkeys help [COMMAND], and what a shell asks when somebody types. */
#include "base/mem.h"
#include "cmd/cmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct help_values {
    bool mdoc, complete;
};

#define VALUES struct help_values
static const struct opt help_table[] = {
    {"mdoc", 0, OPT_FLAG, NULL, "print the generated part of the manual",
     AT(mdoc)},
    {"complete", 0, OPT_FLAG, NULL,
     "print what the last of the words after -- may become, a line each; for "
     "the files in completions/",
     AT(complete)},
    {0},
};

/* ---- completion ---- */

static void complete_word(struct str word, const char *begun)
{
    if (word.n >= strlen(begun) && memcmp(word.p, begun, strlen(begun)) == 0)
        printf("%.*s\n", (int)word.n, word.p);
}

/* The next word of each command whose first words are those before `begun`. */
static void complete_command(const char **words, size_t n, const char *begun)
{
    struct str last = {"", 0};

    for (size_t i = 0; cmd_list[i]; i++) {
        struct str rest = str_of(cmd_list[i]->name), word;
        size_t same = 0;

        while (str_part(&rest, ' ', &word) && same < n &&
               str_eq(word, words[same]))
            same++;
        /* Commands with the same first word stand together. */
        if (same == n && word.n &&
            (word.n != last.n || memcmp(word.p, last.p, last.n) != 0)) {
            complete_word(word, begun);
            last = word;
        }
    }
}

static void complete_options(const struct opt *table, const char *begun)
{
    for (; table->name; table++) {
        char *name = xasprintf("--%s", table->name);

        complete_word(str_of(name), begun);
        free(name);
    }
}

/* Prints nothing where a file or any text may stand. */
static void complete(const char **words, size_t n)
{
    const char *begun = n ? words[n - 1] : "";
    size_t before = n ? n - 1 : 0;
    const struct opt *asks;
    const struct cmd *c;
    struct err ignored = ERR_INIT;
    struct str rest, word, last;
    int used;

    c = before ? cmd_find((int)before, (char **)words, &used, &ignored) : NULL;
    if (!c || c == &cmd_help) {
        complete_command(words + (c ? 1 : 0), before - (c ? 1 : 0), begun);
        return;
    }
    last = str_of(words[before - 1]);
    asks = str_starts(last, "--")
               ? opt_find(c->table, (struct str){last.p + 2, last.n - 2})
               : NULL;
    if (asks && asks->type == OPT_CHOICE) {
        for (rest = str_of(asks->value); str_part(&rest, '|', &word);)
            complete_word(word, begun);
    } else if (begun[0] == '-' && (!asks || asks->type == OPT_FLAG)) {
        complete_options(c->table, begun);
        complete_options(opt_common_table, begun);
    }
}

/* ---- help ---- */

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

    if (v->complete)
        complete(words, call->r.rest_len);
    else if (v->mdoc)
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
