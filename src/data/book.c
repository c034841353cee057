/* book.c: one coroutine reads the rows, and each row has one. Rows go through
 * a queue: its head is written as soon as it is settled, so the manifest keeps the
 * order while the verifier works on many.
 *
 * Rows come from worker/importer.py, one for each that is asked for: programs of
 * strangers are parsed by Python, in a process that can do nothing else. What it
 * says of a program is text to be written; which file that goes to, the importer
 * says. */
#include "data/book.h"

#include "base/fs.h"
#include "base/mem.h"
#include "io/server.h"
#include "llm/ask_all.h"
#include "source/py_normal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MANIFEST "manifest.jsonl"
#define SETTINGS "import.json"
#define AT_ONCE  64 /* rows that wait for the verifier */
#define TRIES    2  /* at a row that the verifier failed */
#define SIZE     4  /* what KernelBook has for every size */
#define END_MS   2000

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

/* The reason with this code, or BOOK_REASONS. */
static enum book_reason book_reason_of(const char *code)
{
    for (int i = 0; i < BOOK_REASONS; i++)
        if (strcmp(book_reasons[i].code, code) == 0)
            return (enum book_reason)i;
    return BOOK_REASONS;
}

/* ---- the manifest ---- */

static size_t row_of(const json_t *line)
{
    return (size_t)jsn_int(line, "row");
}

static uint64_t code_of(const json_t *line)
{
    return strtoull(jsn_str(line, "code"), NULL, 16);
}

/* Whether this row is there, but is to be tried again. */
static bool is_unchecked(const struct book *b, size_t row)
{
    return row <= b->rows && b->row[row - 1].reason == BOOK_UNCHECKED;
}

/* The other row that has this program, or 0 after noting that `row` has it. */
static size_t twin_of(struct book *b, const char hash[HASH_HEX], size_t row)
{
    struct str key = {hash, 32}; /* 128 bits */
    size_t twin = (size_t)(uintptr_t)map_get(&b->programs, key);

    if (!twin)
        map_set(&b->programs, key, (void *)(uintptr_t)row);
    return twin == row ? 0 : twin;
}

/* Takes the line after the others into account, as written or as read. */
static int count_line(struct book *b, const json_t *line, size_t bytes)
{
    enum book_reason why = book_reason_of(jsn_str(line, "reason"));
    const char *hash = jsn_str(line, "program");
    size_t row = row_of(line);
    bool again = is_unchecked(b, row);

    if (why == BOOK_REASONS || !row || (!again && row != b->rows + 1))
        return -1;
    if (again) {
        b->count[BOOK_UNCHECKED]--;
        b->replaced = true;
    } else {
        b->row = xgrow(b->row, &b->cap, b->rows++, sizeof(*b->row));
        if (strlen(hash) == HASH_HEX - 1)
            twin_of(b, hash, row);
    }
    b->count[why]++;
    b->row[row - 1] = (struct book_row){code_of(line), b->size, why};
    b->size += bytes;
    return 0;
}

/* A last line that is cut short is removed. */
static int read_lines(struct book *b, struct err *e)
{
    struct buf all = BUF_INIT;
    struct str rest, line;
    size_t number = 0;
    int rc;

    rc = fs_read(b->path, &all, e);
    rest = buf_view(&all);
    while (rc == 0 && str_cut(&rest, '\n', &line)) {
        json_t *v = jsn_parse_part(b->path, ++number, line.p, line.n, e);

        if (!v)
            rc = -1;
        else if (count_line(b, v, line.n + 1) < 0)
            rc = err_set(e, ERR_INPUT,
                         "%s:%zu: not the line of this row; use another folder",
                         b->path, number);
        json_decref(v);
    }
    if (rc == 0 && ftruncate(b->fd, (off_t)b->size) < 0)
        rc = err_sys(e, "%s", b->path);
    buf_release(&all);
    return rc;
}

/* The settings of the import that began this folder. */
static int check_settings(const char *dir, json_t *settings, struct err *e)
{
    char *path = fs_join(dir, SETTINGS), *text;
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

int book_open(struct book *b, const char *dir, json_t *settings, struct err *e)
{
    *b = (struct book){.dir = dir, .path = fs_join(dir, MANIFEST), .fd = -1};
    if (fs_mkdirs(dir, e) < 0 || check_settings(dir, settings, e) < 0)
        return -1;
    b->fd = open(b->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    return b->fd < 0 ? err_sys(e, "%s", b->path) : read_lines(b, e);
}

void book_close(struct book *b)
{
    if (b->fd >= 0) {
        syncfs(b->fd); /* the tasks' files, too */
        close(b->fd);
    }
    map_release(&b->programs);
    free(b->row);
    free(b->path);
    *b = (struct book){.fd = -1};
}

/* Appends the line of the next row, or of one that was tried again. */
static int append_line(struct book *b, const json_t *line, struct err *e)
{
    char *text = json_dumps(line, JSON_COMPACT), *whole;
    size_t n;
    int rc;

    whole = xasprintf("%s\n", text);
    n = strlen(whole);
    rc = fs_write_all(b->fd, whole, n, e);
    free(whole);
    free(text);
    if (rc < 0)
        return err_wrap(e, "%s", b->path);
    if (count_line(b, line, n) < 0)
        BUG("a line of the manifest in the wrong order");
    return 0;
}

/* Leaves one line for each row, in their order, if some have two. */
static int tidy_lines(struct book *b, struct err *e)
{
    struct buf all = BUF_INIT, out = BUF_INIT;
    int rc;

    if (!b->replaced)
        return 0;
    rc = fs_read(b->path, &all, e);
    for (size_t i = 0; rc == 0 && i < b->rows; i++) {
        const char *line = all.data + b->row[i].at;

        buf_put(&out, line, strcspn(line, "\n") + 1);
    }
    if (rc == 0)
        rc = fs_replace(b->path, buf_str(&out), out.len, e);
    buf_release(&all);
    buf_release(&out);
    return rc;
}

struct item {
    struct importer *im;
    struct item *next;
    bool settled;
    enum book_reason reason;
    char *detail;
    json_t *row;   /* what the importer says */
    json_t *line;  /* of the manifest; borrowed from `row` */
    size_t size;   /* which of the row's sizes and texts */
    json_t *tried; /* sizes that did not work, and why */
    int failures;
};

struct importer {
    const struct book_how *o;
    struct book *book;
    struct loop *loop; /* the verifier's, or our own */
    struct server python;
    struct co_event told; /* the answer is there */
    bool ended;           /* nothing more will come */
    json_t *row;          /* the answer; NULL: the end */
    struct err bad;       /* or why there is none */
    uint64_t done, total;
    struct item *head, **tail;
    struct ask_all all;
    struct ask_group rows;
    size_t open;          /* rows that are not over */
    struct co_event room; /* for one more */
};

/* ---- the rows ---- */

static void on_frame(struct server *s, const struct frame *f, void *arg)
{
    struct importer *im = arg;

    (void)s;
    if (im->ended)
        return;
    if (!f)
        err_set(&im->bad, ERR_SYSTEM,
                "%s: worker/importer.py ended early; 'monkeys doctor' says "
                "what is missing",
                im->o->home->python);
    else if (strcmp(f->type, "row") == 0)
        im->row = jsn_parse("a row", f->payload, f->len, &im->bad);
    else if (strcmp(f->type, "end") != 0)
        err_set(&im->bad,
                strcmp(f->type, "error") == 0 ? ERR_INPUT : ERR_SYSTEM, "%.*s",
                (int)f->len, f->payload);
    im->ended = !im->row;
    co_happen(&im->told);
}

/* Rows before the first that is new, or to be tried again, are only identified. */
static int start_python(struct importer *im, struct err *e)
{
    const struct book_how *o = im->o;
    char *script = fs_join(o->home->dir, "worker/importer.py"), from[24];
    const char *argv[16] = {o->home->python, "-B",         script,
                            "--home",        o->home->dir, "--box",
                            o->box,          "--from",     from};
    size_t first = 1, n = 9;
    int rc;

    while (first <= im->book->rows &&
           !(o->verifying && is_unchecked(im->book, first)))
        first++;
    snprintf(from, sizeof(from), "%zu", first);
    if (o->unsafe)
        argv[n++] = "--unsafe";
    if (o->scale)
        argv[n++] = "--scale";
    argv[n++] = "--";
    argv[n] = o->in;
    im->python.fn = on_frame;
    im->python.arg = im;
    rc = server_start(&im->python, im->loop, argv, NULL, e);
    free(script);
    return rc;
}

/* 1 with the next row, which the caller owns; 0 at the end. */
static int next_row(struct importer *im, json_t **row, struct err *e)
{
    im->told = (struct co_event){.happened = im->ended};
    if (!im->ended)
        server_say(&im->python, "next", "-", "");
    if (co_wait(&im->told) < 0)
        return -1;
    if (im->bad.kind != ERR_NONE) {
        *e = im->bad;
        return -1;
    }
    *row = im->row;
    im->row = NULL;
    if (!*row)
        return 0;
    im->done = (uint64_t)jsn_int(*row, "done");
    im->total = (uint64_t)jsn_int(*row, "total");
    return 1;
}

/* ---- items ---- */

static void item_free(struct item *it)
{
    json_decref(it->row);
    json_decref(it->tried);
    free(it->detail);
    free(it);
}

static void settle(struct item *it, enum book_reason why, const char *detail)
{
    it->settled = true;
    it->reason = why;
    free(it->detail);
    it->detail = xstrdup(detail);
}

/* The program at the size that is tried now. */
static struct str text_of(const struct item *it)
{
    const json_t *text =
        json_array_get(json_object_get(it->row, "texts"), it->size);

    return (struct str){json_string_value(text), json_string_length(text)};
}

static void hash_program(struct str text, char hash[HASH_HEX])
{
    struct py_tokens t, rest = {0};
    bool begins = true, import = false;
    struct arena a = {0};

    py_lex(&t, text, &a);
    rest.tok = arena_alloc(&a, t.len * sizeof(*rest.tok));
    for (size_t i = 0; i < t.len; i++) {
        const struct py_token *k = &t.tok[i];
        bool ends = k->kind == PY_NEWLINE,
             layout = ends || k->kind == PY_INDENT || k->kind == PY_DEDENT;

        if (begins && !layout)
            import = py_is(k, "import") || py_is(k, "from");
        if (!import)
            rest.tok[rest.len++] = *k;
        import = import && !ends;
        begins = layout;
    }
    py_normal_hash_tokens(&rest, hash);
    arena_release(&a);
}

/* What the importer says of a row that it converted. Without its imports, two copies
 * of a program are the same. */
static void take_in(struct item *it)
{
    struct importer *im = it->im;
    const char *code = jsn_str(it->row, "reason");
    enum book_reason why = book_reason_of(code);
    char hash[HASH_HEX], detail[64];
    size_t twin;

    if (why == BOOK_REASONS)
        BUG("worker/importer.py gives no reason");
    if (why != BOOK_KEPT) {
        settle(it, why, jsn_str(it->row, "detail"));
        return;
    }
    hash_program(text_of(it), hash);
    json_object_set_new(it->line, "program", json_string(hash));
    twin = twin_of(im->book, hash, row_of(it->line));
    if (twin) {
        snprintf(detail, sizeof(detail), "row %zu", twin);
        settle(it, BOOK_DUPLICATE, detail);
        return;
    }
    json_object_set(it->line, "changes", json_object_get(it->row, "changes"));
    it->settled = !im->o->verifying;
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
    const json_t *sizes = json_object_get(it->row, "sizes");

    if (it->size + 1 >= json_array_size(sizes)) {
        settle(it, why, detail);
        return;
    }
    json_array_append_new(it->tried, json_pack("{s:O, s:o}", "size",
                                               json_array_get(sizes, it->size),
                                               "why", jsn_of(detail)));
    it->size++;
}

/* What the verifier says of the program. -1: it is dead. */
static int take_finding(struct item *it, const struct verifier_answer *d,
                        struct err *e)
{
    const char *returns = d->record ? jsn_str(d->record, "returns") : "";
    struct buf b = BUF_INIT;

    if (!d->record && verifier_is_dead(it->im->o->verifying->verifier))
        return err_set(e, ERR_SYSTEM, "%s", d->why);
    if (!d->record) {
        if (++it->failures == TRIES)
            fail_item(it, BOOK_UNCHECKED, d->why);
    } else if (*returns && strcmp(returns, "a tensor") != 0) {
        buf_printf(&b, "forward returns %s", returns);
        settle(it, BOOK_OUTPUT, buf_str(&b));
    } else if (!jsn_true(d->record, "usable")) {
        fail_item(it, BOOK_UNUSABLE, reasons_of(d->record, &b));
    } else {
        settle(it, BOOK_KEPT, "");
    }
    buf_release(&b);
    return 0;
}

/* Has the program checked once, at its present size. */
static int check_item(struct item *it, struct err *e)
{
    struct importer *im = it->im;
    char *path = xasprintf("%s/%s.py", im->book->dir, jsn_str(it->row, "stem"));
    struct err one = ERR_INIT;
    struct task *t = task_from(path, text_of(it), &one);
    struct verifier_answer d = {0};
    int rc = 0;

    free(path);
    if (!t) {
        settle(it, BOOK_SYNTAX, one.text);
        return 0;
    }
    rc = verifier_check_task(im->o->verifying->verifier, t, im->o->job, &d, e);
    task_free(t);
    if (rc == 0)
        rc = take_finding(it, &d, e);
    verifier_answer_release(&d);
    return rc;
}

/* ---- writing ---- */

/* Which size it has, and which did not work. */
static json_t *scale_of(const struct item *it, const json_t *sizes)
{
    json_int_t size = json_integer_value(json_array_get(sizes, it->size));

    return json_pack("{s:I, s:O}", "size", size ? size : SIZE, "tried",
                     it->tried);
}

static int write_task(const struct item *it, struct err *e)
{
    const char *stem = jsn_str(it->row, "stem");
    char *path = xasprintf("%s/%s.py", it->im->book->dir, stem);
    char *side = xasprintf("%s/%s.json", it->im->book->dir, stem);
    const json_t *sizes = json_object_get(it->row, "sizes");
    json_t *v =
        json_pack("{s:O}", "source", json_object_get(it->row, "source"));
    char *text = json_dumps(v, JSON_INDENT(2)), *id = task_id(path);
    struct str program = text_of(it);
    int rc = fs_replace_later(side, text, strlen(text), e);

    if (rc == 0)
        rc = fs_replace_later(path, program.p, program.n, e);
    json_object_set_new(it->line, "task", json_string(id));
    if (json_is_array(sizes))
        json_object_set_new(it->line, "scale", scale_of(it, sizes));
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
        json_object_set_new(it->line, "detail", jsn_of(it->detail));
    if ((kept && write_task(it, e) < 0) ||
        append_line(im->book, it->line, e) < 0)
        return -1;
    im->o->step(it->line, im->done, im->total, im->o->arg);
    return 0;
}

/* Writes what is settled at the head of the queue. */
static int write_settled(struct importer *im, struct err *e)
{
    while (im->head && im->head->settled) {
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

static int import_row(struct ask_all *a, size_t item, void *arg, struct err *e)
{
    struct item *it = arg;
    struct importer *im = it->im;
    int rc = 0;

    (void)a, (void)item;
    take_in(it);
    while (rc == 0 && !it->settled)
        rc = check_item(it, e);
    if (rc == 0)
        rc = write_settled(im, e); /* perhaps not this one yet */
    im->open--;
    co_happen(&im->room);
    return rc;
}

/* Takes the row, and waits until there is room for the next one. */
static int add_row(struct importer *im, json_t *row)
{
    struct item *it = xcalloc(1, sizeof(*it));

    it->im = im;
    it->row = row;
    it->line = json_object_get(row, "line");
    it->tried = json_array();
    *im->tail = it;
    im->tail = &it->next;
    im->open++;
    ask_all_start(&im->all, &im->rows, import_row, it);
    im->room = (struct co_event){.happened = im->open < AT_ONCE};
    return co_wait(&im->room);
}

/* Whether the manifest has the row: 1, 0, or -1 for another one. */
static int is_known(const struct importer *im, const json_t *row, struct err *e)
{
    const struct book *b = im->book;
    const json_t *line = json_object_get(row, "line");
    size_t number = row_of(line);

    if (number > b->rows)
        return 0;
    if (b->row[number - 1].code != code_of(line))
        return err_set(e, ERR_INPUT,
                       "%s: row %zu of %s is not the one imported before; "
                       "use another folder",
                       b->path, number, im->o->in);
    im->o->step(NULL, im->done, im->total, im->o->arg);
    return !im->o->verifying || !is_unchecked(b, number);
}

/* A bad row ends the import, but not what was read before it. */
static int read_all(struct ask_all *a, size_t item, void *arg, struct err *e)
{
    struct importer *im = arg;
    size_t limit = im->o->limit ? im->o->limit : SIZE_MAX, n = 0;
    json_t *row = NULL;
    int rc = 0;

    (void)a, (void)item;
    while (rc == 0 && n++ < limit && (rc = next_row(im, &row, e)) > 0) {
        rc = is_known(im, row, e);
        if (rc == 0) {
            rc = add_row(im, row);
            continue;
        }
        json_decref(row);
        rc = rc < 0 ? -1 : 0;
    }
    return ask_all_wait(&im->rows) < 0 ? -1 : rc;
}

int book_import(struct book *b, const struct book_how *how, struct err *e)
{
    struct importer im = {.o = how, .book = b, .bad = ERR_INIT};
    int rc;

    im.tail = &im.head;
    im.loop = how->verifying ? how->verifying->loop : loop_new(e);
    rc = im.loop ? start_python(&im, e) : -1;
    im.all.part.loop = im.loop;
    if (rc == 0 && ask_all(&im.all, 1, read_all, &im, e) == ASK_FAILED)
        rc = -1;
    if (rc == 0 && im.head)
        rc = 1;
    if (rc == 0)
        rc = tidy_lines(b, e);
    for (struct item *it = im.head, *next; it; it = next) {
        next = it->next;
        item_free(it);
    }
    if (im.python.loop)
        server_end(&im.python, END_MS);
    if (im.loop && !how->verifying)
        loop_free(im.loop);
    json_decref(im.row);
    return rc;
}
