/* tables.h: the options of commands that print tables, and the printing. */
#ifndef CMD_TABLES_H
#define CMD_TABLES_H

#include "analyze/table.h"
#include "base/err.h"

#include <stdbool.h>

struct tables_values {
    const char *table; /* only this one */
    bool json, csv, md;
};

/* For a command whose values begin with them. */
#define TABLES_OPTIONS                               \
    {"table",                                        \
     0,                                              \
     OPT_TEXT,                                       \
     "NAME",                                         \
     "only this table",                              \
     offsetof(struct tables_values, table),          \
     0,                                              \
     0},                                             \
        {"json",                                     \
         0,                                          \
         OPT_FLAG,                                   \
         NULL,                                       \
         "JSON Lines: an object per row",            \
         offsetof(struct tables_values, json),       \
         0,                                          \
         0},                                         \
        {"csv",                                      \
         0,                                          \
         OPT_FLAG,                                   \
         NULL,                                       \
         "comma-separated values, of one table",     \
         offsetof(struct tables_values, csv),        \
         0,                                          \
         0},                                         \
    {                                                \
        "md", 0, OPT_FLAG, NULL, "Markdown",         \
            offsetof(struct tables_values, md), 0, 0 \
    }

/* Refuses two formats at once, and CSV of more than one table. */
int tables_format(const struct tables_values *v, enum table_format *out,
                  struct err *e);
/* The error for a table that does not exist; names those that do. */
int tables_unknown(const char *name, const char *const *known, size_t n,
                   struct err *e);
/* To stdout; a blank line stands between two. */
void tables_put(const struct table *t, enum table_format f, size_t *printed);

#endif
