/* book_import.c: rows go through a queue. Its head is written as soon as it is
 * settled, so the manifest keeps the order while the verifier works on many. */
#include "data/book_import.h"

#include "base/fs.h"
#include "base/mem.h"
#include "data/book_convert.h"
#include "data/book_rows.h"
#include "data/book_scale.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT_ONCE 64 /* rows that the verifier has */
#define NAME    80 /* characters of a class's name in a file's */
#define TRIES   2  /* at a row that the verifier failed */

enum state { SETTLED, TO_ASK, ASKED, STUCK };

struct item {
    struct importer *im;
    struct item *next;
    enum state state;
    enum book_reason reason;
    char *detail;
    json_t *line, *fields;
    char *stem, *text;
    struct book_scale scale;
    int failures;
};

struct importer {
    const struct book_import_opts *o;
    struct book_manifest *m;
    struct book_rows *rows;
    struct arena work; /* of one conversion */
    struct item *head, **tail;
    size_t asked;
    bool waiting;
    bool again; /* a row is to be asked about once more */
    char *why;  /* the verifier is dead */
};

/* ---- items ---- */

static void item_free(struct item *it)
{
    json_decref(it->line);
    json_decref(it->fields);
    json_decref(it->scale.tried);
    free(it->detail);
    free(it->stem);
    free(it->text);
    free(it);
}

static void settle(struct item *it, enum book_reason why, const char *detail)
{
    it->state = SETTLED;
    it->reason = why;
    free(it->detail);
    it->detail = xstrdup(detail);
}

/* The columns that say where a program is from, in our words. */
static const char *const columns[][2] = {
    {"uuid", "uuid"},         {"entry_point", "entry_point"},
    {"repo_name", "repo"},    {"module_name", "module"},
    {"sha", "sha"},           {"repo_link", "link"},
    {"licenses", "licenses"}, {"file", "file"},
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* The columns that are used: an item waits for its verdict, and a row may have long
 * ones besides. */
static json_t *used_fields(const json_t *row)
{
    json_t *used = json_object();

    for (size_t i = 0; i < COLUMNS; i++)
        json_object_set(used, columns[i][0],
                        json_object_get(row, columns[i][0]));
    json_object_set(used, "python_code", json_object_get(row, "python_code"));
    return used;
}

static struct str code_of(const struct item *it)
{
    const json_t *code = json_object_get(it->fields, "python_code");

    return (struct str){json_string_value(code), json_string_length(code)};
}

/* NUMBER_CLASS, or the name of its file. */
static char *stem_of(const struct book_row *row)
{
    char *stem = row->file
                     ? xstrndup(row->file, strlen(row->file) - strlen(".py"))
                     : xasprintf("%zu_%.*s", row->number, NAME,
                                 jsn_str(row->fields, "entry_point"));

    for (char *c = stem; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_' && *c != '-')
            *c = '_';
    return stem;
}

/* ---- conversion ---- */

static json_t *change_names(unsigned changes)
{
    json_t *list = json_array();

    for (int i = 0; i < BOOK_CHANGES; i++)
        if (changes & 1u << i)
            json_array_append_new(list, json_string(book_changes[i]));
    return list;
}

/* The program at its next size. */
static void convert(struct item *it)
{
    struct importer *im = it->im;
    struct book_program p;

    arena_reset(&im->work);
    book_convert(&p, str_of(jsn_str(it->fields, "entry_point")), code_of(it),
                 it->scale.size, &im->work);
    if (p.reason != BOOK_KEPT) {
        settle(it, p.reason, p.detail);
        return;
    }
    free(it->text);
    it->text = xstrndup(p.text.p, p.text.n);
    it->state = im->o->verifier ? TO_ASK : SETTLED;
}

/* As it is in the file, to learn whether it is new and what could be scaled. */
static void convert_first(struct item *it, size_t number)
{
    struct importer *im = it->im;
    struct book_program p;
    size_t twin;
    char detail[64];

    arena_reset(&im->work);
    book_convert(&p, str_of(jsn_str(it->fields, "entry_point")), code_of(it), 0,
                 &im->work);
    if (p.reason != BOOK_KEPT) {
        settle(it, p.reason, p.detail);
        return;
    }
    json_object_set_new(it->line, "program", json_string(p.hash));
    twin = book_manifest_twin(im->m, p.hash, number);
    if (twin) {
        snprintf(detail, sizeof(detail), "row %zu", twin);
        settle(it, BOOK_DUPLICATE, detail);
        return;
    }
    json_object_set_new(it->line, "changes", change_names(p.changes));
    if (im->o->scale)
        book_scale_init(&it->scale, &p);
    convert(it);
}

/* ---- the verifier ---- */

static const char *reasons_of(const json_t *record, struct buf *b)
{
    const json_t *list = json_object_get(record, "reasons");

    for (size_t i = 0; i < json_array_size(list); i++)
        buf_printf(b, "%s%s", i ? "; " : "",
                   json_string_value(json_array_get(list, i)));
    return buf_str(b);
}

/* A smaller size may do where this one does not. */
static void fail_item(struct item *it, enum book_reason why, const char *detail)
{
    if (book_scale_next(&it->scale, detail))
        convert(it);
    else
        settle(it, why, detail);
}

static void on_record(const json_t *record, const char *why, void *arg)
{
    struct item *it = arg;
    struct importer *im = it->im;
    const char *returns = record ? jsn_str(record, "returns") : "";
    struct buf b;

    im->asked--;
    if (im->waiting)
        loop_stop(im->o->verifier->loop);
    buf_init(&b, BUF_UNLIMITED);
    if (!record && door_is_dead(im->o->verifier->door)) {
        it->state = STUCK;
        if (!im->why)
            im->why = xstrdup(why);
    } else if (!record) {
        it->state = TO_ASK;
        if (++it->failures == TRIES)
            fail_item(it, BOOK_UNCHECKED, why);
    } else if (*returns && strcmp(returns, "a tensor") != 0) {
        buf_printf(&b, "forward returns %s", returns);
        settle(it, BOOK_OUTPUT, buf_str(&b));
    } else if (!json_is_true(json_object_get(record, "usable"))) {
        fail_item(it, BOOK_UNUSABLE, reasons_of(record, &b));
    } else {
        settle(it, BOOK_KEPT, "");
    }
    im->again = im->again || it->state == TO_ASK;
    buf_release(&b);
}

/* Asks until an answer has to be waited for. */
static int ask(struct item *it, struct err *e)
{
    struct importer *im = it->im;
    struct err one = ERR_INIT;
    int rc = 0;

    while (rc == 0 && it->state == TO_ASK && !im->why) {
        char *path = xasprintf("%s/%s.py", im->o->out, it->stem);
        struct task *t = task_from(path, str_of(it->text), &one);

        if (t) {
            it->state = ASKED;
            im->asked++;
            rc = door_check_task(im->o->verifier->door, t, im->o->job,
                                 on_record, it, e);
            im->asked -= rc < 0;
            task_free(t);
        } else {
            settle(it, BOOK_SYNTAX, one.text);
        }
        free(path);
    }
    return rc;
}

/* ---- writing ---- */

static json_t *source_of(const struct item *it)
{
    json_t *source = json_pack("{s:s, s:O}", "dataset", "KernelBook", "row",
                               json_object_get(it->line, "row"));

    for (size_t i = 0; i < COLUMNS; i++) {
        json_t *v = json_object_get(it->fields, columns[i][0]);

        if (v && !json_is_null(v))
            json_object_set(source, columns[i][1], v);
    }
    return source;
}

static int write_task(const struct item *it, struct err *e)
{
    char *path = xasprintf("%s/%s.py", it->im->o->out, it->stem);
    char *side = xasprintf("%s/%s.json", it->im->o->out, it->stem);
    json_t *v = json_pack("{s:o}", "source", source_of(it));
    char *text = json_dumps(v, JSON_INDENT(2)), *id = task_id(path);
    int rc = fs_replace_later(side, text, strlen(text), e);

    if (rc == 0)
        rc = fs_replace_later(path, it->text, strlen(it->text), e);
    json_object_set_new(it->line, "task", json_string(id));
    if (it->scale.begun)
        json_object_set_new(it->line, "scale", book_scale_json(&it->scale));
    json_decref(v);
    free(text);
    free(id);
    free(path);
    free(side);
    return rc;
}

static int write_item(struct item *it, struct err *e)
{
    struct importer *im = it->im;
    bool kept = it->reason == BOOK_KEPT;

    json_object_set_new(it->line, "kept", json_boolean(kept));
    json_object_set_new(it->line, "reason",
                        json_string(book_reasons[it->reason].code));
    if (!kept)
        json_object_set_new(it->line, "detail",
                            jsn_text(it->detail, strlen(it->detail)));
    if ((kept && write_task(it, e) < 0) ||
        book_manifest_add(im->m, it->line, e) < 0)
        return -1;
    im->o->step(it->line, book_rows_done(im->rows), book_rows_total(im->rows),
                im->o->arg);
    return 0;
}

/* Writes what is settled at the head of the queue. */
static int write_settled(struct importer *im, struct err *e)
{
    while (im->head && im->head->state == SETTLED) {
        struct item *it = im->head;

        if (write_item(it, e) < 0)
            return -1;
        im->head = it->next;
        if (!im->head)
            im->tail = &im->head;
        item_free(it);
    }
    return 0;
}

/* ---- the queue ---- */

/* Waits until fewer than `most` rows are asked about. */
static int drain(struct importer *im, size_t most, struct err *e)
{
    const struct verifying *g = im->o->verifier;

    for (;;) {
        for (struct item *it = im->again ? im->head : NULL; it; it = it->next)
            if (ask(it, e) < 0)
                return -1;
        im->again = false;
        if (write_settled(im, e) < 0)
            return -1;
        if (im->why)
            return err_set(e, ERR_SYSTEM, "%s", im->why);
        if (!im->asked || im->asked < most || door_elsewhere(g->door, false))
            return 0;
        im->waiting = true;
        loop_run(g->loop);
        im->waiting = false;
    }
}

static int add_row(struct importer *im, const struct book_row *row,
                   struct err *e)
{
    const char *entry = jsn_str(row->fields, "entry_point");
    const json_t *uuid = json_object_get(row->fields, "uuid");
    struct item *it = xcalloc(1, sizeof(*it));
    char code[17];

    it->im = im;
    it->fields = used_fields(row->fields);
    snprintf(code, sizeof(code), "%016" PRIx64,
             book_manifest_code(code_of(it)));
    it->line =
        json_pack("{s:I, s:O*, s:s, s:s}", "row", (json_int_t)row->number,
                  "uuid", uuid, "entry_point", entry, "code", code);
    it->stem = stem_of(row);
    if (!*entry || !json_is_string(json_object_get(row->fields, "python_code")))
        settle(it, BOOK_FIELDS, "python_code and entry_point must be texts");
    else
        convert_first(it, row->number);
    *im->tail = it;
    im->tail = &it->next;
    return ask(it, e);
}

static int skip_row(const struct importer *im, const struct book_row *row,
                    struct err *e)
{
    const json_t *code = json_object_get(row->fields, "python_code");
    struct str text = {json_string_value(code), json_string_length(code)};

    if (im->m->code[row->number - 1] != book_manifest_code(text))
        return err_set(e, ERR_INPUT,
                       "%s: row %zu of %s is another one; use another folder",
                       im->m->path, row->number, im->o->in);
    im->o->step(NULL, book_rows_done(im->rows), book_rows_total(im->rows),
                im->o->arg);
    return 0;
}

static int read_all(struct importer *im, struct err *e)
{
    size_t limit = im->o->limit ? im->o->limit : SIZE_MAX, n = 0;
    struct book_row row;
    int rc = 0;

    while (rc == 0 && n++ < limit &&
           (rc = book_rows_next(im->rows, &row, e)) > 0) {
        if (row.number <= im->m->rows) {
            rc = skip_row(im, &row, e);
            if (rc < 0 || !im->o->verifier ||
                !book_manifest_is_open(im->m, row.number))
                continue;
        }
        rc = add_row(im, &row, e);
        if (rc == 0)
            rc = drain(im, AT_ONCE, e);
    }
    return rc < 0 ? -1 : 0;
}

int book_import(const struct book_import_opts *o, struct book_manifest *m,
                struct err *e)
{
    struct importer im = {.o = o, .m = m};
    struct err late = ERR_INIT;
    int rc;

    im.tail = &im.head;
    arena_init(&im.work);
    im.rows = book_rows_open(o->in, e);
    rc = im.rows ? read_all(&im, e) : -1;
    /* A bad row ends the import, but not what was read before it. */
    if (im.rows && !im.why && drain(&im, 1, &late) < 0 && rc == 0) {
        *e = late;
        rc = -1;
    }
    if (rc == 0 && im.head)
        rc = 1;
    if (rc == 0)
        rc = book_manifest_tidy(m, e);
    if (o->verifier)
        door_drop(o->verifier->door);
    for (struct item *it = im.head, *next; it; it = next) {
        next = it->next;
        item_free(it);
    }
    book_rows_close(im.rows);
    arena_release(&im.work);
    free(im.why);
    return rc;
}
