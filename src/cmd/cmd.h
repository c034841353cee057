/* cmd.h: the one list of commands. main.c runs them, `help` prints them, the
 * manual's synopsis is made from them. A command is a file here that exports a
 * `struct cmd`; two words ("pack list") are one command with its own options. */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/home.h"
#include "base/opt.h"
#include "pack/pack.h"
#include "source/task.h"

#include <stddef.h>

struct cmd_call;
struct cmd {
    const char *name;
    const char *args; /* what follows the options, for help */
    const char *summary;
    const char *text; /* the rest of its help: paragraphs */
    const struct opt *table;
    /* The exit status, or -1 with `e` filled. */
    int (*run)(struct cmd_call *call, struct err *e);
    size_t size;          /* of the struct that its options fill */
    const void *defaults; /* NULL: all zero */
};

/* In the order that help shows them. */
#define COMMANDS(X)                                                          \
    X(run), X(resume), X(status), X(show), X(report), X(serve), X(compare),  \
        X(analyze), X(archive_list), X(archive_show), X(archive_add),        \
        X(archive_export), X(archive_import), X(archive_reverify), X(check), \
        X(verify), X(tasks_list), X(tasks_check), X(tasks_import),           \
        X(decompose), X(pack_list), X(pack_check), X(pack_new),              \
        X(guide_build), X(prompt), X(llm_ping), X(llm_batch_export),         \
        X(llm_batch_import), X(tokens), X(decontaminate), X(export_sft),     \
        X(export_refine), X(export_kernels), X(doctor), X(help)
#define CMD_NAME(name) cmd_##name
extern const struct cmd COMMANDS(CMD_NAME);
extern const struct cmd *const cmd_list[]; /* NULL-terminated */

/* Where the value of an option goes: a field of VALUES, which the file of a
 * command defines; a number lies within limits. */
#define AT(field)             offsetof(VALUES, field), 0, 0
#define WITHIN(field, lo, hi) offsetof(VALUES, field), lo, hi
#define OPTION(name, type, value, help, field) \
    {                                          \
        name, 0, type, value, help, AT(field)  \
    }
#define NUMBER(name, value, help, field, lo, hi)             \
    {                                                        \
        name, 0, OPT_INT, value, help, WITHIN(field, lo, hi) \
    }

/* One call of a command. */
struct cmd_call {
    const struct cmd *cmd;
    int argc;
    char **argv; /* argv[0] is the last word of the command's name */
    void *values;
    struct opt_result r; /* the words that are no options: r.rest */
    struct arena arena;  /* what the configuration file said */
    /* private */
    struct home home;
    struct packs_path path;
    struct pack *pack;
    struct task *task;
};

/* The command that argv[0..argc) starts with, and how many words name it; NULL
 * with ERR_USAGE and the nearest name when there is none. */
const struct cmd *cmd_find(int argc, char **argv, int *words, struct err *e);
/* Reads the options, runs the command, and releases what its call holds. */
int cmd_execute(const struct cmd *c, int argc, char **argv, struct err *e);

/* The program's home; where packs are looked for; the pack with this id. Each
 * is found once, and released with the call. NULL on failure, such as without an
 * id. */
const struct home *cmd_home(struct cmd_call *call, struct err *e);
const struct packs_path *cmd_packs(struct cmd_call *call,
                                   const struct opt_list *given, struct err *e);
const struct pack *cmd_pack(struct cmd_call *call, const struct opt_list *given,
                            const char *id, struct err *e);

/* The path of a task: a file, or COLLECTION/NAME of one that comes with the program.
 * The caller frees it. NULL: there is neither. */
char *cmd_task_path(struct cmd_call *call, const char *word, struct err *e);
/* That task, with what --define sets in it; released with the call. */
struct task *cmd_task(struct cmd_call *call, const char *word,
                      const struct opt_list *define, struct err *e);
/* The tasks that words name: files, folders, patterns, and collections that come with
 * the program. Warns of files that are no tasks; when `strict`, they are an error. */
int cmd_collect(struct cmd_call *call, const char *const *words, size_t n,
                bool strict, struct collection *out, struct err *e);
/* Those that the words of the call name, or `fallback`, with what is defined in them. */
int cmd_tasks(struct cmd_call *call, const char *fallback, bool strict,
              const struct opt_list *define, struct collection *out,
              struct err *e);

/* Writes out what was printed; the first failure stays in cmd_output_errno. */
void cmd_flush(void);
extern int cmd_output_errno;
/* Prints a text, which is released, so that nothing in it controls the terminal;
 * lines of more than `longest` bytes are cut. */
void cmd_print(struct buf *text, size_t longest);

void cmd_help_all(struct buf *out);
void cmd_help_one(const struct cmd *c, struct buf *out);
void cmd_mdoc(struct buf *out);

#endif
