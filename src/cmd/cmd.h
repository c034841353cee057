/* cmd.h: the one list of commands. main.c runs them, `help` prints them, the
 * manual's synopsis is made from them. A command is a file here that exports a
 * `struct cmd`; two words ("pack list") are one command with its own options. */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"

#include <stddef.h>

struct cmd {
    const char *name;
    const char *args; /* what follows the options, for help */
    const char *summary;
    const char *text; /* the rest of its help: paragraphs */
    const struct opt *table;
    /* The exit status, or -1 with `e` filled. argv[0] is the command's last
     * word. */
    int (*run)(const struct cmd *c, int argc, char **argv, struct err *e);
};

extern const struct cmd *const cmd_list[]; /* NULL-terminated */

/* Writes out what was printed; the first failure stays in cmd_output_errno. */
void cmd_flush(void);
extern int cmd_output_errno;

/* The command that argv[0..argc) starts with, and how many words name it; NULL
 * with ERR_USAGE and the nearest name when there is none. */
const struct cmd *cmd_find(int argc, char **argv, int *words, struct err *e);

/* One call of a command: its options in `values`, the other words in r.rest. */
struct cmd_call {
    const struct cmd *cmd;
    void *values;
    struct opt_result r;
    struct arena arena; /* what the configuration file said */
};
/* Reads configuration file and command line into `values` (`size` bytes that
 * hold the defaults). Returns 1 when the call asked
 * for --help or --version, which has been printed. */
int cmd_begin(struct cmd_call *call, int argc, char **argv, size_t size,
              struct err *e);
void cmd_end(struct cmd_call *call);

void cmd_help_all(struct buf *out);
void cmd_help_one(const struct cmd *c, struct buf *out);
void cmd_mdoc(struct buf *out);

#endif
