/* opt.h: a command's options are one table, used for parsing, --help, the manual
 * and configuration files. Values go to a struct of the command through offsets,
 * so a table is constant. */
#ifndef BASE_OPT_H
#define BASE_OPT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum opt_type {
    OPT_FLAG,   /* bool */
    OPT_TEXT,   /* const char *, borrowed from the command line */
    OPT_MAYBE,  /* the same, "" for --name without =value; says how to do this
                   call of a command, so conf_write() leaves it out */
    OPT_CHOICE, /* const char *, one of the words in `value`, "a|b|c" */
    OPT_INT,    /* int64_t, within [lo, hi] */
    OPT_LIST,   /* struct opt_list: may be repeated */
};

struct opt_list {
    const char **item;
    size_t len, cap;
};

struct opt {
    const char *name; /* without the dashes; NULL ends a table */
    char letter;      /* short form, or 0 */
    enum opt_type type;
    const char *value; /* the placeholder in help, such as "FILE" */
    const char *help;
    size_t at; /* offset of the value in the command's struct */
    int64_t lo, hi;
};

/* The option of this name, or NULL. */
const struct opt *opt_find(const struct opt *table, struct str name);
/* Frees the lists in `into`. */
void opt_release(const struct opt *table, void *into);

/* What every command has besides its own table. */
struct opt_common {
    bool help;          /* -h, --help */
    bool version;       /* --version */
    const char *config; /* -c FILE */
};
extern const struct opt opt_common_table[];

struct opt_result {
    struct opt_common common;
    const char **rest; /* arguments that are not options, in order; borrowed */
    size_t rest_len, rest_cap;
};
void opt_result_release(struct opt_result *r);

/* Parses argv[1..argc). "--" ends the options; "--name=value" and
 * "--name value" are the same; an unknown option is ERR_USAGE and names the most
 * similar one. `into` holds the defaults. */
int opt_parse(const struct opt *table, void *into, int argc, char **argv,
              struct opt_result *r, struct err *e);
/* Sets one option by name, as a line of a configuration file does. */
int opt_set(const struct opt *table, void *into, const char *name,
            const char *value, struct err *e);

/* Appends the parts of an environment variable, which colons separate. */
void opt_list_env(struct opt_list *list, const char *variable, struct arena *a);

/* "  -c, --config FILE  help" for each option, wrapped to 80 columns. */
void opt_help(const struct opt *table, struct buf *out);
/* The options as mdoc: one `.Op Fl …` a line, or an `.It Fl …` list. */
void opt_mdoc_synopsis(const struct opt *table, struct buf *out);
/* Text as mdoc wants it: each sentence starts a line. */
void opt_mdoc_text(const char *text, struct buf *out);
void opt_mdoc_list(const struct opt *table, struct buf *out);

#endif
