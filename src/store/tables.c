/* tables.c: the one list of columns a table, for writing and for reading. */
#include "store/store_int.h"

/* ---- the columns ---- */

#define AT(field) offsetof(struct ROW, field)
#define COL(name, type, flags, at)      \
    {                                   \
        name, type, flags, AT(at), 0, 0 \
    }
#define INT(f)      COL(#f, COL_INT, 0, f)
#define BOOL(f)     COL(#f, COL_BOOL, 0, f)
#define REAL(f)     COL(#f, COL_REAL, 0, f)
#define TEXT(f)     COL(#f, COL_TEXT, 0, f)
#define KEY_INT(f)  COL(#f, COL_INT, COL_KEY, f)
#define KEY_TEXT(f) COL(#f, COL_TEXT, COL_KEY, f)
#define CLOCK(f)    COL(#f, COL_INT, COL_LOOSE, f)

#define ROW row_fact
static const struct col fact_cols[] = {KEY_TEXT(name), TEXT(value)};
#undef ROW

#define ROW row_task
static const struct col task_cols[] = {
    KEY_INT(ord), TEXT(id),      TEXT(hash), TEXT(source), TEXT(path),
    TEXT(ops),    TEXT(skipped), TEXT(kind), TEXT(level),  TEXT(title),
    TEXT(needs),  TEXT(parents), INT(depth),
};
#undef ROW

/* The bytes depend on the compressor's version; the hash identifies the text. */
#define ROW row_blob
static const struct col blob_cols[] = {
    KEY_TEXT(hash),
    INT(size),
    {"data", COL_BYTES, COL_LOOSE, AT(data), AT(len), 1},
};
#undef ROW

#define ROW row_call
static const struct col call_cols[] = {
    KEY_TEXT(purpose),
    KEY_TEXT(asked),
    KEY_INT(try),
    INT(task),
    INT(attempt),
    TEXT(state),
    TEXT(prompt),
    TEXT(prompt_hash),
    TEXT(reply),
    TEXT(thought),
    TEXT(finish),
    TEXT(model),
    TEXT(error),
    INT(input),
    INT(cached),
    INT(output),
    INT(reasoning),
    BOOL(estimated),
    INT(reserved_usd_micro),
    INT(reserved_tokens),
    INT(cost_usd_micro),
    INT(cost_tokens),
    INT(assumed_usd_micro),
    INT(requests),
    CLOCK(wall_us),
    CLOCK(asked_at),
    CLOCK(answered_at),
};
#undef ROW

#define ROW row_attempt
static const struct col attempt_cols[] = {
    KEY_INT(task), KEY_INT(attempt),     TEXT(method),    INT(iteration),
    INT(batch),    INT(archive_version), TEXT(retrieval), INT(parent),
    INT(island),   TEXT(plan),           TEXT(code),      TEXT(code_hash),
    TEXT(stage),   TEXT(verdict),        TEXT(rule),      REAL(fitness),
    INT(same_as),  BOOL(solved),
};
#undef ROW

#define ROW row_shown
static const struct col shown_cols[] = {
    KEY_INT(task), KEY_INT(attempt), KEY_INT(rank),
    INT(entry),    REAL(cosine),     TEXT(reason),
};
#undef ROW

/* What repeats and what does not are tables of their own. */
#define ROW row_verdict
#define VERDICT_COLS                                                           \
    KEY_INT(task), KEY_INT(attempt), TEXT(verdict), TEXT(stage),               \
        TEXT(evidence), BOOL(compiled), BOOL(kernelbench_pass), REAL(max_abs), \
        REAL(max_rel), REAL(error_ratio), TEXT(feedback), TEXT(record)
#define VERDICT_TIME_COLS \
    COL("times", COL_TEXT, COL_LOOSE, times), CLOCK(wall_us), CLOCK(judged_at)
static const struct col verdict_cols[] = {VERDICT_COLS};
static const struct col verdict_time_cols[] = {KEY_INT(task), KEY_INT(attempt),
                                               VERDICT_TIME_COLS};
static const struct col verdict_read_cols[] = {VERDICT_COLS, VERDICT_TIME_COLS};
#undef ROW

#define ROW row_entry
#define ENTRY_COLS                                                       \
    KEY_INT(entry), INT(version), TEXT(origin), INT(task), INT(attempt), \
        TEXT(name), TEXT(task_hash), TEXT(problem), TEXT(plan),          \
        TEXT(solution), TEXT(evidence), TEXT(ported)
static const struct col entry_cols[] = {ENTRY_COLS};
static const struct col entry_read_cols[] = {
    ENTRY_COLS, COL("coalesce(left_version, 0)", COL_INT, 0, withdrawn)};
#undef ROW

#define ROW row_entry_left
static const struct col entry_left_cols[] = {
    KEY_INT(entry),
    COL("left_version", COL_INT, 0, version),
    TEXT(why),
};
#undef ROW

#define ROW row_review
static const struct col review_cols[] = {KEY_TEXT(hash), REAL(score),
                                         TEXT(reply)};
#undef ROW

#define ROW row_vector
static const struct col vector_cols[] = {
    KEY_TEXT(source),
    KEY_TEXT(hash),
    {"v", COL_BYTES, 0, AT(v), AT(dim), sizeof(float)}};
#undef ROW

#define ROW row_change
static const struct col change_cols[] = {KEY_INT(seq), TEXT(name), INT(number)};
#undef ROW

#define ROW row_event
static const struct col event_cols[] = {
    KEY_INT(seq), TEXT(kind), INT(task),
    INT(attempt), TEXT(text), COL("told_at", COL_INT, COL_LOOSE, at),
};
#undef ROW

#define ROW row_recheck
static const struct col recheck_cols[] = {
    KEY_INT(pass), KEY_TEXT(problem), KEY_TEXT(solution),
    TEXT(under),   TEXT(verdict),     TEXT(evidence),
    TEXT(why),     CLOCK(judged_at),  INT(rules),
};
#undef ROW

#define ROW row_look
static const struct col look_cols[] = {KEY_INT(look), INT(round),
                                       INT(shared_version), INT(version)};
#undef ROW

#define TABLE(name, cols, row, frozen)                                    \
    {                                                                     \
        name, cols, sizeof(cols) / sizeof((cols)[0]), sizeof(struct row), \
            frozen                                                        \
    }

const struct table store_tables[TABLES] = {
    [TABLE_FACT] = TABLE("fact", fact_cols, row_fact, NULL),
    [TABLE_TASK] = TABLE("task", task_cols, row_task, NULL),
    [TABLE_BLOB] = TABLE("blob", blob_cols, row_blob, NULL),
    [TABLE_CALL] = TABLE("call", call_cols, row_call, "state = 'answered'"),
    [TABLE_ATTEMPT] = TABLE("attempt", attempt_cols, row_attempt, NULL),
    [TABLE_SHOWN] = TABLE("shown", shown_cols, row_shown, NULL),
    [TABLE_VERDICT] = TABLE("verdict", verdict_cols, row_verdict, NULL),
    [TABLE_VERDICT_TIME] =
        TABLE("verdict_time", verdict_time_cols, row_verdict, NULL),
    [TABLE_ENTRY] = TABLE("entry", entry_cols, row_entry, NULL),
    [TABLE_ENTRY_LEFT] =
        TABLE("entry_left", entry_left_cols, row_entry_left, NULL),
    [TABLE_REVIEW] = TABLE("review", review_cols, row_review, NULL),
    [TABLE_VECTOR] = TABLE("vector", vector_cols, row_vector, NULL),
    [TABLE_RECHECK] = TABLE("recheck", recheck_cols, row_recheck, NULL),
    [TABLE_EVENT] = TABLE("event", event_cols, row_event, NULL),
    [TABLE_LOOK] = TABLE("look", look_cols, row_look, NULL),
};

/* For reading only: joins, and what triggers write. */
const struct table store_change_read =
    TABLE("change", change_cols, row_change, NULL);
const struct table store_verdict_read =
    TABLE("verdict JOIN verdict_time USING (task, attempt)", verdict_read_cols,
          row_verdict, NULL);
const struct table store_entry_read =
    TABLE("entry LEFT JOIN entry_left USING (entry)", entry_read_cols,
          row_entry, NULL);

void store_put_names(struct buf *sql, const struct table *t)
{
    for (size_t i = 0; i < t->cols; i++)
        buf_printf(sql, "%s%s", i ? ", " : "", t->col[i].name);
}

void store_put_keys(struct buf *sql, const struct table *t)
{
    const char *sep = "";

    for (size_t i = 0; i < t->cols; i++) {
        if (!(t->col[i].flags & COL_KEY))
            continue;
        buf_printf(sql, "%s%s", sep, t->col[i].name);
        sep = ", ";
    }
}
