/* cmd.c: finding a command, reading its options, showing its help. */
#include "cmd/cmd.h"

#include "base/conf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/version.h"
#include "io/term.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CMD_ENTRY(name) &cmd_##name
const struct cmd *const cmd_list[] = {COMMANDS(CMD_ENTRY), NULL};

#define MAX_COMMANDS 64

/* How many leading words of argv spell this command's name, or 0. */
static int cmd_words_of(const struct cmd *c, int argc, char **argv)
{
    struct str rest = str_of(c->name), word;
    int n = 0;

    while (str_part(&rest, ' ', &word)) {
        if (n >= argc || !str_eq(word, argv[n]))
            return 0;
        n++;
    }
    return n;
}

/* All commands that start with the word, as "list, check or new". */
static int cmd_second_word_missing(const char *first, struct err *e)
{
    struct buf names = {.limit = 1024};
    size_t n = strlen(first);
    int found = 0;

    for (size_t i = 0; cmd_list[i]; i++) {
        if (strncmp(cmd_list[i]->name, first, n) != 0 ||
            cmd_list[i]->name[n] != ' ')
            continue;
        buf_printf(&names, "%s%s", found++ ? "|" : "",
                   cmd_list[i]->name + n + 1);
    }
    if (found)
        err_set(e, ERR_USAGE, "usage: monkeys %s %s", first, buf_str(&names));
    buf_release(&names);
    return found;
}

int cmd_output_errno;

void cmd_flush(void)
{
    if (fflush(stdout) != 0 && !cmd_output_errno)
        cmd_output_errno = errno;
}

const struct cmd *cmd_find(int argc, char **argv, int *words, struct err *e)
{
    const char *names[MAX_COMMANDS], *near;
    size_t n = 0;
    char *two;

    for (size_t i = 0; cmd_list[i]; i++) {
        *words = cmd_words_of(cmd_list[i], argc, argv);
        if (*words)
            return cmd_list[i];
        names[n++] = cmd_list[i]->name;
    }
    if (cmd_second_word_missing(argv[0], e))
        return NULL;
    two = argc > 1 ? xasprintf("%s %s", argv[0], argv[1]) : xstrdup(argv[0]);
    near = str_nearest(two, names, n);
    if (!near)
        near = str_nearest(argv[0], names, n);
    if (near)
        err_set(e, ERR_USAGE,
                "unknown command '%s'; did you mean 'monkeys %s'?", argv[0],
                near);
    else
        err_set(e, ERR_USAGE, "unknown command '%s'; see 'monkeys help'",
                argv[0]);
    free(two);
    return NULL;
}

/* A section that is not a command would otherwise be ignored silently. */
static int cmd_on_section(const char *section, const char *name,
                          const char *value, void *arg, struct err *e)
{
    (void)name;
    (void)value;
    (void)arg;
    for (size_t i = 0; cmd_list[i]; i++)
        if (strcmp(cmd_list[i]->name, section) == 0)
            return 0;
    if (!section[0])
        return err_set(e, ERR_INPUT,
                       "a line before the first section; a section is the name "
                       "of a command, such as [run]");
    return err_set(e, ERR_INPUT,
                   "[%s] is not a command; 'monkeys help' lists them", section);
}

/* The folders of MONKEYS_PACKS come after those of --packs. */
static void cmd_add_packs(struct cmd_call *call)
{
    for (const struct opt *o = call->cmd->table; o->name; o++)
        if (o->type == OPT_LIST && strcmp(o->name, "packs") == 0)
            opt_list_env((void *)((char *)call->values + o->at),
                         "MONKEYS_PACKS", &call->arena);
}

/* The defaults, the configuration file, and over it the command line. */
static int cmd_read(struct cmd_call *call, const char *config, struct err *e)
{
    const struct cmd *c = call->cmd;

    opt_release(c->table, call->values);
    opt_result_release(&call->r);
    memset(call->values, 0, c->size);
    if (c->defaults)
        memcpy(call->values, c->defaults, c->size);
    if (config && (ini_read(config, cmd_on_section, NULL, e) < 0 ||
                   conf_apply(config, c->name, c->table, call->values,
                              &call->arena, e) < 0))
        return -1;
    return opt_parse(c->table, call->values, call->argc, call->argv, &call->r,
                     e);
}

static void cmd_print_help(const struct cmd *c)
{
    struct buf help = BUF_INIT;

    cmd_help_one(c, &help);
    fputs(buf_str(&help), stdout);
    buf_release(&help);
}

int cmd_execute(const struct cmd *c, int argc, char **argv, struct err *e)
{
    struct cmd_call call = {.cmd = c,
                            .argc = argc,
                            .argv = argv,
                            .values = xcalloc(1, c->size + 1)};
    int rc;

    rc = cmd_read(&call, NULL, e);
    if (rc == 0 && call.r.common.help) {
        cmd_print_help(c);
    } else if (rc == 0 && call.r.common.version) {
        puts("monkeys " MONKEYS_VERSION);
    } else {
        if (rc == 0 && call.r.common.config)
            rc = cmd_read(&call, call.r.common.config, e);
        if (rc == 0) {
            cmd_add_packs(&call);
            rc = c->run(&call, e);
        }
    }
    if (call.task)
        task_free(call.task);
    if (call.pack)
        pack_free(call.pack);
    packs_path_release(&call.path);
    home_release(&call.home);
    opt_release(c->table, call.values);
    opt_result_release(&call.r);
    arena_release(&call.arena);
    free(call.values);
    return rc;
}

const struct home *cmd_home(struct cmd_call *call, struct err *e)
{
    return call->home.dir || home_find(&call->home, e) == 0 ? &call->home
                                                            : NULL;
}

const struct packs_path *cmd_packs(struct cmd_call *call,
                                   const struct opt_list *given, struct err *e)
{
    if (!cmd_home(call, e))
        return NULL;
    if (!call->path.own)
        packs_path_init(&call->path, given, &call->home);
    return &call->path;
}

const struct pack *cmd_pack(struct cmd_call *call, const struct opt_list *given,
                            const char *id, struct err *e)
{
    const struct packs_path *path;

    if (!id) {
        err_set(e, ERR_USAGE,
                "--dsl ID is missing; 'monkeys pack list' lists the packs");
        return NULL;
    }
    path = cmd_packs(call, given, e);
    if (path && !call->pack)
        call->pack = packs_load(path, id, e);
    return call->pack;
}

char *cmd_task_path(struct cmd_call *call, const char *word, struct err *e)
{
    const struct home *home = cmd_home(call, e);
    char *own;

    if (!home)
        return NULL;
    own = xasprintf("%s/tasks/%s.py", home->dir, word);
    if (!fs_is_file(word) && fs_is_file(own))
        return own;
    free(own);
    if (access(word, F_OK) == 0)
        return xstrdup(word);
    err_set(
        e, ERR_INPUT,
        "%s: no such file, and no task of that name comes with the program; "
        "'monkeys tasks list' shows them",
        word);
    return NULL;
}

struct task *cmd_task(struct cmd_call *call, const char *word,
                      const struct opt_list *define, struct err *e)
{
    char *path = cmd_task_path(call, word, e);
    struct collection one = {.task = &call->task, .len = 1};

    call->task = path ? task_load(path, e) : NULL;
    free(path);
    return call->task && define_tasks(&one, define, e) == 0 ? call->task : NULL;
}

int cmd_collect(struct cmd_call *call, const char *const *words, size_t n,
                bool strict, struct collection *out, struct err *e)
{
    const struct home *home = cmd_home(call, e);
    char *own;
    int rc;

    if (!home)
        return -1;
    own = fs_join(home->dir, "tasks");
    rc = collection_add(out, words, n, own, e);
    free(own);
    return rc < 0 ? -1 : collection_report(out, strict, e);
}

int cmd_tasks(struct cmd_call *call, const char *fallback, bool strict,
              const struct opt_list *define, struct collection *out,
              struct err *e)
{
    size_t n = call->r.rest_len;

    if (cmd_collect(call, n ? call->r.rest : &fallback, n ? n : 1, strict, out,
                    e) < 0)
        return -1;
    return define_tasks(out, define, e);
}

void cmd_print(struct buf *text, size_t longest)
{
    struct buf b = BUF_INIT;

    term_quote(buf_view(text), longest, &b);
    fwrite(buf_str(&b), 1, b.len, stdout);
    buf_release(&b);
    buf_release(text);
}

void cmd_help_all(struct buf *out)
{
    buf_puts(out, "usage: monkeys <command> [options]\n\n"
                  "Ports PyTorch programs to GPU languages with a language "
                  "model, and verifies every kernel.\n\n");
    for (size_t i = 0; cmd_list[i]; i++)
        buf_printf(out, "  %-16s  %s\n", cmd_list[i]->name,
                   cmd_list[i]->summary);
    buf_puts(
        out,
        "\nSee 'monkeys help COMMAND' for its options. Exit status: 0 done or "
        "yes, 1 no,\n2 usage or bad input, 3 budget exhausted, 4 "
        "internal or system failure,\n130 interrupted.\n");
}

void cmd_help_one(const struct cmd *c, struct buf *out)
{
    buf_printf(out, "usage: monkeys %s [options]%s%s\n\n%s.\n\n", c->name,
               c->args[0] ? " " : "", c->args, c->summary);
    if (c->text)
        buf_printf(out, "%s\n\n", c->text);
    opt_help(c->table, out);
    opt_help(opt_common_table, out);
}

void cmd_mdoc(struct buf *out)
{
    buf_puts(out, ".Sh SYNOPSIS\n");
    for (size_t i = 0; cmd_list[i]; i++) {
        buf_printf(out, ".Nm\n.Cm %s\n", cmd_list[i]->name);
        opt_mdoc_synopsis(cmd_list[i]->table, out);
        if (cmd_list[i]->args[0])
            buf_printf(out, ".Ar %s\n", cmd_list[i]->args);
    }
    buf_puts(out, ".Sh COMMANDS\n.Bl -tag -width Ds\n");
    for (size_t i = 0; cmd_list[i]; i++) {
        const struct cmd *c = cmd_list[i];

        buf_printf(out, ".It Cm %s\n%s.\n", c->name, c->summary);
        if (c->text) {
            opt_mdoc_text(c->text, out);
            buf_putc(out, '\n');
        }
        opt_mdoc_list(c->table, out);
    }
    buf_puts(out, ".El\n.Pp\nEvery command also takes:\n");
    opt_mdoc_list(opt_common_table, out);
}
