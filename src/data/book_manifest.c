/* book_manifest.c: reading and extending a manifest. */
#include "data/book_manifest.h"

#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct book_reason_row book_reasons[BOOK_REASONS] = {
    [BOOK_KEPT] = {"kept", "the row became a task"},
    [BOOK_FIELDS] = {"fields", "the row has no python_code or entry_point"},
    [BOOK_SYNTAX] = {"syntax", "Python cannot parse the program"},
    [BOOK_ENTRY] = {"entry", "the entry class, its forward, get_inputs or "
                             "get_init_inputs is missing"},
    [BOOK_COLLISION] = {"collision", "the entry class cannot be renamed: Model "
                                     "or its own name has another use"},
    [BOOK_IMPORT] = {"import", "the program uses a module that is neither "
                               "torch, numpy nor Python's own"},
    [BOOK_ARGUMENTS] = {"arguments", "the constructor's keyword arguments "
                                     "cannot be given by position"},
    [BOOK_RANDOM] = {"random", "forward draws random numbers"},
    [BOOK_OUTPUT] = {"output", "forward does not return one tensor, and its "
                               "first item cannot be selected"},
    [BOOK_DUPLICATE] = {"duplicate", "an earlier row has the same program"},
    [BOOK_UNUSABLE] = {"unusable", "the task does not pass 'tasks check'"},
    [BOOK_UNCHECKED] = {"unchecked", "the verifier failed twice; the same "
                                     "command tries the row again"},
};

enum book_reason book_reason_of(const char *code)
{
    for (int i = 0; i < BOOK_REASONS; i++)
        if (strcmp(book_reasons[i].code, code) == 0)
            return (enum book_reason)i;
    return BOOK_REASONS;
}

static json_int_t row_of(const json_t *line)
{
    return json_integer_value(json_object_get(line, "row"));
}

static uint64_t code_of(const json_t *line)
{
    return strtoull(jsn_str(line, "code"), NULL, 16);
}

bool book_manifest_differs(const struct book_manifest *m, const json_t *line)
{
    json_int_t row = row_of(line);

    return row <= (json_int_t)m->rows && m->code[row - 1] != code_of(line);
}

size_t book_manifest_twin(struct book_manifest *m, const char hash[HASH_HEX],
                          size_t row)
{
    struct str key = {hash, 32}; /* 128 bits */
    size_t twin = (size_t)(uintptr_t)map_get(&m->programs, key);

    if (!twin)
        map_set(&m->programs, key, (void *)(uintptr_t)row);
    return twin == row ? 0 : twin;
}

bool book_manifest_is_open(const struct book_manifest *m, size_t row)
{
    return row <= m->rows && m->reason[row - 1] == BOOK_UNCHECKED;
}

/* Takes a line into account, as written or as read. */
static int count_line(struct book_manifest *m, const json_t *line)
{
    enum book_reason why = book_reason_of(jsn_str(line, "reason"));
    const char *hash = jsn_str(line, "program");
    json_int_t row = row_of(line);

    if (why == BOOK_REASONS || row < 1)
        return -1;
    if (row <= (json_int_t)m->rows) {
        if (!book_manifest_is_open(m, (size_t)row))
            return -1;
        m->count[m->reason[row - 1]]--;
        m->count[why]++;
        m->reason[row - 1] = (unsigned char)why;
        m->replaced = true;
        return 0;
    }
    if (row != (json_int_t)m->rows + 1)
        return -1;
    m->reason = xgrow(m->reason, &m->reason_cap, m->rows, sizeof(*m->reason));
    m->reason[m->rows] = (unsigned char)why;
    m->code = xgrow(m->code, &m->cap, m->rows, sizeof(*m->code));
    m->code[m->rows++] = code_of(line);
    m->count[why]++;
    if (strlen(hash) == HASH_HEX - 1)
        book_manifest_twin(m, hash, (size_t)row);
    return 0;
}

static int read_lines(struct book_manifest *m, FILE *in, struct err *e)
{
    char *text = NULL;
    size_t room = 0, number = 0;
    off_t whole = 0;
    ssize_t n;
    int rc = 0;

    while (rc == 0 && (n = getline(&text, &room, in)) > 0) {
        json_t *line;

        if (text[n - 1] != '\n')
            break; /* cut short */
        line = jsn_parse_part(m->path, ++number, text, (size_t)n, e);
        if (!line)
            rc = -1;
        else if (count_line(m, line) < 0)
            rc = err_set(e, ERR_INPUT,
                         "%s:%zu: not the line of this row; use another folder",
                         m->path, number);
        json_decref(line);
        whole += n;
    }
    free(text);
    if (rc == 0 && ftruncate(m->fd, whole) < 0)
        rc = err_sys(e, "%s", m->path);
    return rc;
}

/* The settings of the import that began this folder. */
static int check_settings(const char *dir, json_t *settings, struct err *e)
{
    char *path = fs_join(dir, BOOK_SETTINGS), *text;
    json_t *old = NULL;
    int rc = 0;

    if (fs_is_file(path)) {
        old = jsn_read(path, e);
        if (!old)
            rc = -1;
        else if (!json_equal(old, settings))
            rc = err_set(e, ERR_INPUT,
                         "%s: this folder was begun with other options; "
                         "repeat those, or use another folder",
                         path);
        json_decref(old);
    } else {
        text = json_dumps(settings, JSON_INDENT(2) | JSON_SORT_KEYS);
        rc = fs_replace(path, text, strlen(text), e);
        free(text);
    }
    free(path);
    return rc;
}

int book_manifest_open(struct book_manifest *m, const char *dir,
                       json_t *settings, struct err *e)
{
    FILE *in;
    int rc;

    *m = (struct book_manifest){.path = fs_join(dir, BOOK_MANIFEST), .fd = -1};
    map_init(&m->programs);
    if (fs_mkdirs(dir, e) < 0 || check_settings(dir, settings, e) < 0)
        return -1;
    m->fd = open(m->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    in = m->fd < 0 ? NULL : fopen(m->path, "re");
    if (!in)
        return err_sys(e, "%s", m->path);
    rc = read_lines(m, in, e);
    fclose(in);
    return rc;
}

void book_manifest_close(struct book_manifest *m)
{
    if (m->fd >= 0) {
        syncfs(m->fd); /* the tasks' files, too */
        close(m->fd);
    }
    map_release(&m->programs);
    free(m->code);
    free(m->reason);
    free(m->path);
    *m = (struct book_manifest){.fd = -1};
}

int book_manifest_add(struct book_manifest *m, json_t *line, struct err *e)
{
    char *text = json_dumps(line, JSON_COMPACT), *whole;
    int rc;

    whole = xasprintf("%s\n", text);
    rc = fs_write_all(m->fd, whole, strlen(whole), e);
    free(whole);
    free(text);
    if (rc < 0)
        return err_wrap(e, "%s", m->path);
    if (count_line(m, line) < 0)
        BUG("a line of the manifest in the wrong order");
    return 0;
}

/* ---- one line for each row ---- */

/* Where the last line of each row is. */
static int find_lines(const struct book_manifest *m, FILE *in, off_t *at,
                      struct err *e)
{
    char *text = NULL;
    size_t room = 0;
    off_t place = 0;
    ssize_t n;
    int rc = 0;

    while (rc == 0 && (n = getline(&text, &room, in)) > 0) {
        json_t *line = jsn_parse(m->path, text, (size_t)n, e);
        json_int_t row = row_of(line);

        if (!line)
            rc = -1;
        else if (row >= 1 && row <= (json_int_t)m->rows)
            at[row - 1] = place;
        place += n;
        json_decref(line);
    }
    free(text);
    return rc;
}

static int copy_lines(const struct book_manifest *m, FILE *in, const off_t *at,
                      FILE *out, struct err *e)
{
    char *text = NULL;
    size_t room = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < m->rows; i++) {
        ssize_t n =
            fseeko(in, at[i], SEEK_SET) < 0 ? -1 : getline(&text, &room, in);

        if (n < 0 || fwrite(text, 1, (size_t)n, out) != (size_t)n)
            rc = err_sys(e, "%s", m->path);
    }
    free(text);
    return rc;
}

int book_manifest_tidy(struct book_manifest *m, struct err *e)
{
    char *fresh = m->replaced ? xasprintf("%s.new", m->path) : NULL;
    off_t *at = fresh ? xcalloc(m->rows + 1, sizeof(*at)) : NULL;
    FILE *in = fresh ? fopen(m->path, "re") : NULL,
         *out = in ? fopen(fresh, "we") : NULL;
    int rc = 0;

    if (fresh && !out)
        rc = err_sys(e, "%s", fresh);
    if (rc == 0 && out)
        rc = find_lines(m, in, at, e);
    if (rc == 0 && out)
        rc = copy_lines(m, in, at, out, e);
    if (in)
        fclose(in);
    if (out && (fflush(out) != 0 || fsync(fileno(out)) < 0) && rc == 0)
        rc = err_sys(e, "%s", fresh);
    if (out)
        fclose(out);
    if (rc == 0 && out && rename(fresh, m->path) < 0)
        rc = err_sys(e, "%s", m->path);
    m->replaced = m->replaced && rc < 0;
    free(at);
    free(fresh);
    return rc;
}
