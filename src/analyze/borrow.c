/* borrow.c: the questions about borrowing, and their table. */
#include "analyze/borrow.h"

#include "base/mem.h"
#include "prompt/ask.h"
#include "prompt/inquiry.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum item_state { ITEM_OPEN, ITEM_READ, ITEM_UNREADABLE, ITEM_FAILED };

/* An attempt, and what was answered about it. */
struct item {
    const json_t *row; /* of asked_about.sql */
    int64_t nr, attempt;
    const char *task;
    bool solved;
    enum item_state state;
    struct prompt_borrowed found;
};

struct borrow {
    json_t *rows;
    struct item *item;
    size_t items;
    struct analysis *a;
    struct inquiry inquiry;
    struct ask_all ask;
};

/* ---- what to ask ---- */

/* The attempts to look at: those of the paper, if none are given. */
static int borrow_numbers(struct analysis *a, const struct opt_list *list,
                          struct err *e)
{
    int64_t number;

    for (size_t i = 0; i < list->len; i++)
        if (!str_to_i64(str_of(list->item[i]), 1, 1000000, &number))
            return err_set(e, ERR_USAGE,
                           "--attempt '%s' is not the number of an attempt",
                           list->item[i]);
    return analysis_give(
        a, "attempts",
        list->len ? analysis_list(list) : json_pack("[i, i]", 1, 3), e);
}

/* Attempts with these numbers that have code and were shown examples. */
static int borrow_collect(struct borrow *b, const struct opt_list *numbers,
                          struct err *e)
{
    const json_t *row;
    size_t i;

    if (borrow_numbers(b->a, numbers, e) < 0 ||
        !(b->rows = analysis_ask(b->a, "asked_about", 0, e)))
        return -1;
    b->items = json_array_size(b->rows);
    b->item = xcalloc(b->items + 1, sizeof(*b->item));
    json_array_foreach(b->rows, i, row) b->item[i] =
        (struct item){.row = row,
                      .nr = jsn_int(row, "nr"),
                      .attempt = jsn_int(row, "attempt"),
                      .task = jsn_str(row, "task"),
                      .solved = jsn_int(row, "solved")};
    return b->items ? 0
                    : err_set(e, ERR_INPUT,
                              "no attempt with one of these numbers has code "
                              "and was shown examples");
}

/* What the question about an attempt is made of: its code, and the examples as
 * they were shown. */
struct comparison {
    struct str code;
    struct prompt_part *parent;
    size_t parents;
};

static int borrow_text(const struct borrow *b, const struct item *x,
                       const json_t *hash, struct arena *memory,
                       struct str *out, struct err *e)
{
    struct buf text;
    int rc;

    buf_init(&text, BUF_UNLIMITED);
    rc = programs_text(&b->a->programs, x->nr, json_string_value(hash), &text,
                       e);
    *out =
        (struct str){arena_strndup(memory, buf_str(&text), text.len), text.len};
    buf_release(&text);
    return rc;
}

static int borrow_read(const struct borrow *b, const struct item *x,
                       struct arena *memory, struct comparison *out,
                       struct err *e)
{
    json_t *parents = json_object_get(x->row, "parents"), *parent;
    size_t n = json_array_size(parents), i;

    *out = (struct comparison){
        .parent = arena_alloc(memory, (n + 1) * sizeof(*out->parent))};
    if (borrow_text(b, x, json_object_get(x->row, "code"), memory, &out->code,
                    e) < 0)
        return -1;
    json_array_foreach(parents, i, parent)
    {
        struct prompt_part *to = &out->parent[out->parents++];

        to->name = json_string_value(json_array_get(parent, 0));
        if (borrow_text(b, x, json_array_get(parent, 1), memory, &to->text, e) <
            0)
            return -1;
    }
    return 0;
}

/* ---- asking ---- */

static int borrow_ask(struct borrow *b, const struct item *x,
                      const char *purpose, const struct prompt *p,
                      struct arena *memory, struct ledger_answer *out)
{
    char asked[HASH_HEX];
    struct ledger_question q = {
        .purpose = purpose, .asked = asked, .prompt_hash = p->hash};

    ledger_hash(asked, "%s", p->hash);
    q.request = (struct llm_request){
        .key = {x->task, b->a->run[x->nr].name, purpose, (int)x->attempt},
        .message = p->message,
        .count = p->count};
    return ask_all_question(&b->ask, &q, memory, out);
}

/* Asks, and asks again if the answer cannot be read. */
static int borrow_ask_about(struct borrow *b, struct item *x,
                            const struct comparison *c, struct arena *memory)
{
    struct prompt_part target = {.name = x->task, .text = c->code};
    struct ledger_answer a;
    struct prompt p;

    prompts_borrowing(b->inquiry.prompts, &target, c->parent, c->parents,
                      memory, &p);
    for (bool again = false;; again = true) {
        struct err why = ERR_INIT;

        if (borrow_ask(b, x, again ? "borrowing-repair" : "borrowing", &p,
                       memory, &a) < 0)
            return -1;
        x->state = a.end == LEDGER_FAILED ? ITEM_FAILED
                   : prompts_borrowing_read(a.text, c->code, c->parents,
                                            &x->found, &why) == 0
                       ? ITEM_READ
                       : ITEM_UNREADABLE;
        if (x->state != ITEM_UNREADABLE || again)
            return 0;
        prompts_repair(b->inquiry.prompts, a.text, prompt_borrowing_shape,
                       why.text, memory, &p);
    }
}

static int borrow_compare(struct ask_all *a, size_t item, void *arg,
                          struct err *e)
{
    struct borrow *b = arg;
    struct item *x = &b->item[item];
    struct comparison c;
    struct arena memory;
    int rc;

    (void)a;
    arena_init(&memory);
    rc = borrow_read(b, x, &memory, &c, e);
    if (rc == 0)
        rc = borrow_ask_about(b, x, &c, &memory);
    arena_release(&memory);
    return rc;
}

static void borrow_step(const struct ask_progress *p, void *arg)
{
    inquiry_step(arg, p->done, "");
}

static int borrow_ask_all(struct borrow *b, const char *dir, struct err *e)
{
    struct inquiry *q = &b->inquiry;
    enum ask_end end;

    b->ask = (struct ask_all){.part = inquiry_parts(q)};
    b->ask.part.step = borrow_step;
    b->ask.part.arg = q;
    q->term = term_open(STDERR_FILENO, b->items, 0, "kernels compared");
    end = ask_all(&b->ask, b->items, borrow_compare, b, e);
    return inquiry_ended(end, dir, "the answers", e);
}

/* ---- the table ---- */

static json_t *borrow_answers(const struct borrow *b)
{
    static const char *const states[] = {[ITEM_OPEN] = "open",
                                         [ITEM_READ] = "read",
                                         [ITEM_UNREADABLE] = "unreadable",
                                         [ITEM_FAILED] = "failed"};
    json_t *list = json_array();

    for (size_t i = 0; i < b->items; i++) {
        const struct item *x = &b->item[i];
        bool read = x->state == ITEM_READ && x->found.lines;

        json_array_append_new(
            list, json_pack("[I, I, b, s, o, I]", (json_int_t)x->nr,
                            (json_int_t)x->attempt, x->solved, states[x->state],
                            read ? json_real((double)x->found.borrowed /
                                             (double)x->found.lines)
                                 : json_null(),
                            read ? (json_int_t)x->found.dropped : 0));
    }
    return list;
}

int borrow_ask_about_runs(const struct borrow_values *v, struct analysis *a,
                          const char *home, struct err *e)
{
    struct inquiry_opts o = {.values = &v->model,
                             .home = home,
                             .dir = v->store ? v->store : "borrowing",
                             .file = "borrowing.db"};
    struct borrow b = {.a = a};
    struct err late = ERR_INIT;
    int rc = borrow_collect(&b, &v->attempt, e);

    if (rc == 0)
        rc = inquiry_open(&b.inquiry, &o, e);
    if (rc == 0)
        rc = borrow_ask_all(&b, o.dir, e);
    if (rc == 0)
        rc = analysis_give(a, "answers", borrow_answers(&b), e);
    if (inquiry_close(&b.inquiry, &late) < 0 && rc >= 0) {
        *e = late;
        rc = -1;
    }
    json_decref(b.rows);
    free(b.item);
    return rc;
}
