/* export.h: training data from runs, as a folder that appears whole or not at all:
 * records.jsonl (flat records), train.jsonl and test.jsonl (the same in a
 * trainer's format), and README.md, the dataset card. The same runs and options
 * give the same bytes. */
#ifndef DATA_EXPORT_H
#define DATA_EXPORT_H

#include "data/jsonl.h"
#include "data/records.h"
#include "data/vocab.h"

struct export_how {
    const struct record_kind *kind;
    struct samples_how samples;
    const char *out;           /* a new folder */
    bool messages;             /* else prompt and completion */
    bool zstd;                 /* files are compressed */
    const struct vocab *vocab; /* NULL: tokens are not counted */
    const struct chat_template *chat;
    int64_t max_tokens;  /* of a conversation; counts only with a vocabulary */
    int64_t problems;    /* so many tasks of the training part; 0: all */
    const char *overlap; /* how the benchmark was compared, for the card */
    struct backfill *backfill; /* asks for plans that are missing; NULL: they
                                  stay missing */
};

enum export_file {
    EXPORT_RECORDS,
    EXPORT_TRAIN,
    EXPORT_TEST,
};
#define EXPORT_FILES 3

struct export_sums {
    /* Of the records that could be made: */
    size_t too_long;   /* more than max_tokens */
    size_t repeated;   /* the same conversation as an earlier one */
    size_t no_prompt;  /* the run has not stored it */
    size_t not_utf8;   /* it cannot be written to JSON as it is */
    size_t not_chosen; /* its task is not one of `problems` */
    /* Of those that were written: */
    size_t problems, test_problems;
    size_t one_stage;  /* tasks without a plan */
    size_t backfilled; /* tasks whose plan was asked for afterwards */
    size_t phase[3];   /* plan, code, fix */
    uint64_t prompt_tokens, completion_tokens;
    struct samples_counts of; /* what the runs have */
    char *name[EXPORT_FILES]; /* of the files; NULL: without records */
    struct jsonl_sums file[EXPORT_FILES];
    json_t *licences, *datasets; /* {name: records} */
};

extern const char *const export_phases[3];

/* The end is that of the questions for plans; if they do not come to theirs,
 * nothing is written. Release in any case. */
enum ask_end export_records(const struct export_how *how,
                            struct export_sums *out, struct err *e);
void export_release(struct export_sums *s);
/* The counts, as --json prints them; the caller owns the reference. */
json_t *export_json(const struct export_sums *s);

#endif
