/* opt.c: option tables to values, help and manual. */
#include "base/opt.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

#define MAX_OPTIONS 64

const struct opt opt_common_table[] = {
    {"help", 'h', OPT_FLAG, NULL, "show this help",
     offsetof(struct opt_common, help), 0, 0},
    {"version", 0, OPT_FLAG, NULL, "show the version",
     offsetof(struct opt_common, version), 0, 0},
    {"config", 'c', OPT_TEXT, "FILE",
     "read options from FILE: one section per command, one line per option, "
     "such as 'rules = paper'; options on the command line win",
     offsetof(struct opt_common, config), 0, 0},
    {0},
};

void opt_release(const struct opt *table, void *into)
{
    for (; table->name; table++) {
        struct opt_list *list = (void *)((char *)into + table->at);

        if (table->type != OPT_LIST)
            continue;
        free(list->item);
        *list = (struct opt_list){0};
    }
}

void opt_result_release(struct opt_result *r)
{
    free(r->rest);
    *r = (struct opt_result){0};
}

const struct opt *opt_find(const struct opt *table, struct str name)
{
    for (; table->name; table++)
        if (str_eq(name, table->name))
            return table;
    return NULL;
}

static const struct opt *find_letter(const struct opt *table, char c)
{
    for (; table->name; table++)
        if (table->letter == c)
            return table;
    return NULL;
}

/* True when `value` is one of the words of "a|b|c". */
static bool is_choice(const char *choices, const char *value)
{
    struct str all = str_of(choices), word;

    while (str_cut(&all, '|', &word))
        if (str_eq(word, value))
            return true;
    return str_eq(all, value);
}

static void list_add(struct opt_list *list, const char *value)
{
    list->item = xgrow(list->item, &list->cap, list->len, sizeof(*list->item));
    list->item[list->len++] = value;
}

void opt_list_env(struct opt_list *list, const char *variable, struct arena *a)
{
    const char *text = secure_getenv(variable);
    struct str rest = str_of(text ? text : ""), part;

    while (str_part(&rest, ':', &part))
        if (part.n)
            list_add(list, arena_strndup(a, part.p, part.n));
}

static int store(const struct opt *o, void *into, const char *value,
                 struct err *e)
{
    void *at = (char *)into + o->at;

    switch (o->type) {
    case OPT_FLAG:
        *(bool *)at = true;
        return 0;
    case OPT_CHOICE:
        if (!is_choice(o->value, value))
            return err_set(e, ERR_USAGE, "--%s: '%s' is not one of %s", o->name,
                           value, o->value);
        *(const char **)at = value;
        return 0;
    case OPT_TEXT:
    case OPT_MAYBE:
        *(const char **)at = value;
        return 0;
    case OPT_INT:
        if (!str_to_i64(str_of(value), o->lo, o->hi, at))
            return err_set(e, ERR_USAGE,
                           "--%s: '%s' is not a whole number from %lld to %lld",
                           o->name, value, (long long)o->lo, (long long)o->hi);
        return 0;
    case OPT_LIST:
        list_add(at, value);
        return 0;
    }
    BUG("option type %d", o->type);
}

int opt_set(const struct opt *table, void *into, const char *name,
            const char *value, struct err *e)
{
    const struct opt *o = opt_find(table, str_of(name));
    const char *names[MAX_OPTIONS], *near;
    size_t n = 0;

    if (!o) {
        for (o = table; o->name && n < MAX_OPTIONS; o++)
            names[n++] = o->name;
        near = str_nearest(name, names, n);
        return err_set(e, ERR_INPUT, "unknown option '%s'%s%s%s", name,
                       near ? "; did you mean '" : "", near ? near : "",
                       near ? "'?" : "");
    }
    if (o->type != OPT_FLAG && o->type != OPT_MAYBE)
        return store(o, into, value, e);
    if (strcmp(value, "yes") == 0 || strcmp(value, "true") == 0)
        return store(o, into, "", e);
    if (strcmp(value, "no") == 0 || strcmp(value, "false") == 0)
        return 0;
    if (o->type == OPT_MAYBE)
        return store(o, into, value, e);
    return err_set(e, ERR_INPUT, "%s: '%s' is neither yes nor no", name, value);
}

static int opt_unknown(const struct opt *table, const char *word, struct err *e)
{
    const struct opt *const tables[] = {table, opt_common_table};
    const char *names[MAX_OPTIONS], *near;
    size_t n = 0, len = strcspn(word, "=");
    char *name = xstrndup(word, len);

    for (size_t t = 0; t < 2; t++)
        for (const struct opt *o = tables[t]; o->name && n < MAX_OPTIONS; o++)
            names[n++] = o->name;
    near = str_nearest(name, names, n);
    if (near)
        err_set(e, ERR_USAGE, "unknown option --%s; did you mean --%s?", name,
                near);
    else
        err_set(e, ERR_USAGE, "unknown option --%s; --help lists them", name);
    free(name);
    return -1;
}

struct parser {
    const struct opt *table;
    void *into;
    struct opt_result *r;
    int argc, i;
    char **argv;
};

/* The option a word names and the struct its value belongs to. */
static const struct opt *lookup(struct parser *p, struct str name, char letter,
                                void **into)
{
    const struct opt *o;

    *into = p->into;
    o = letter ? find_letter(p->table, letter) : opt_find(p->table, name);
    if (o)
        return o;
    *into = &p->r->common;
    return letter ? find_letter(opt_common_table, letter)
                  : opt_find(opt_common_table, name);
}

static int one_option(struct parser *p, struct err *e)
{
    const char *word = p->argv[p->i], *value = NULL;
    bool is_long = word[1] == '-';
    struct str name = str_of(word + (is_long ? 2 : 1));
    const char *eq = is_long ? memchr(name.p, '=', name.n) : NULL;
    const struct opt *o;
    char letter = '\0';
    void *into;

    if (eq) {
        name.n = (size_t)(eq - name.p);
        value = eq + 1;
    }
    if (!is_long)
        letter = word[1];
    o = lookup(p, name, letter, &into);
    if (!o && is_long)
        return opt_unknown(p->table, word + 2, e);
    if (!o)
        return err_set(e, ERR_USAGE, "unknown option -%c; --help lists them",
                       word[1]);
    if (!is_long && word[2])
        value = word + 2;
    if (o->type == OPT_FLAG && value)
        return err_set(e, ERR_USAGE, "--%s takes no value", o->name);
    if (o->type == OPT_MAYBE && !value)
        value = "";
    if (o->type != OPT_FLAG && !value) {
        if (p->i + 1 >= p->argc)
            return err_set(e, ERR_USAGE, "--%s needs a value: %s", o->name,
                           o->value);
        value = p->argv[++p->i];
    }
    return store(o, into, value, e);
}

int opt_parse(const struct opt *table, void *into, int argc, char **argv,
              struct opt_result *r, struct err *e)
{
    struct parser p = {table, into, r, argc, 1, argv};
    bool ended = false;

    *r = (struct opt_result){0};
    for (; p.i < argc; p.i++) {
        const char *word = argv[p.i];

        if (!ended && strcmp(word, "--") == 0) {
            ended = true;
        } else if (!ended && word[0] == '-' && word[1]) {
            if (one_option(&p, e) < 0)
                return -1;
        } else {
            r->rest =
                xgrow(r->rest, &r->rest_cap, r->rest_len, sizeof(*r->rest));
            r->rest[r->rest_len++] = word;
        }
    }
    return 0;
}

/* Adds `text` wrapped at 80 columns, later lines indented by `indent`. */
static void put_wrapped(struct buf *out, const char *text, size_t column,
                        size_t indent)
{
    struct str rest = str_of(text), word;

    while (str_part(&rest, ' ', &word)) {
        if (column > indent && column + 1 + word.n > 79) {
            buf_printf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            buf_putc(out, ' ');
            column++;
        }
        buf_put(out, word.p, word.n);
        column += word.n;
    }
    buf_putc(out, '\n');
}

void opt_help(const struct opt *table, struct buf *out)
{
    const size_t indent = 26;

    for (; table->name; table++) {
        size_t start = out->len, used;

        if (table->letter)
            buf_printf(out, "  -%c, --%s", table->letter, table->name);
        else
            buf_printf(out, "      --%s", table->name);
        if (table->value)
            buf_printf(out, table->type == OPT_MAYBE ? "[=%s]" : " %s",
                       table->value);
        used = out->len - start;
        if (used > indent - 2)
            buf_printf(out, "\n%*s", (int)indent, "");
        else
            buf_printf(out, "%*s", (int)(indent - used), "");
        put_wrapped(out, table->help, indent, indent);
    }
}

static void put_flag(const struct opt *o, struct buf *out)
{
    if (o->letter)
        buf_printf(out, "Fl %c | ", o->letter);
    buf_printf(out, "Fl -%s", o->name);
    if (o->type == OPT_MAYBE)
        buf_printf(out, " Ns Oo = Ns Ar %s Oc", o->value);
    else if (o->value)
        buf_printf(out, " Ar %s", o->value);
}

void opt_mdoc_synopsis(const struct opt *table, struct buf *out)
{
    for (; table->name; table++) {
        buf_puts(out, ".Op ");
        put_flag(table, out);
        buf_putc(out, '\n');
    }
}

void opt_mdoc_text(const char *text, struct buf *out)
{
    bool starts = true; /* a line */

    for (const char *p = text; *p; p++) {
        bool ends = p > text && *p == ' ' && strchr(".:;?!", p[-1]);

        if (starts && (*p == '\'' || *p == '.'))
            buf_puts(out, "\\&"); /* it would be a request */
        buf_putc(out, ends ? '\n' : *p);
        starts = ends || *p == '\n';
    }
}

void opt_mdoc_list(const struct opt *table, struct buf *out)
{
    if (!table->name)
        return;
    buf_puts(out, ".Bl -tag -width Ds\n");
    for (; table->name; table++) {
        buf_puts(out, ".It ");
        put_flag(table, out);
        buf_putc(out, '\n');
        opt_mdoc_text(table->help, out);
        buf_puts(out, ".\n");
    }
    buf_puts(out, ".El\n");
}
