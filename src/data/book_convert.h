/* book_convert.h: makes a KernelBench file of a program from KernelBook. The
 * program is untrusted text: it is tokenized and edited, never run here.
 *
 * - The entry class becomes Model.
 * - get_init_inputs gives the constructor's arguments by position.
 * - _mock_config, which is not in the file, is defined in it.
 * - What differs between training and inference is in inference mode: the
 *   constructor ends with self.eval().
 * - forward returns one tensor: of a tuple, list or dict, the first item.
 * - Imports that are unavailable and unused are dropped, and so are repeated
 *   ones. */
#ifndef DATA_BOOK_CONVERT_H
#define DATA_BOOK_CONVERT_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/str.h"
#include "data/book_reason.h"

#include <stdint.h>

/* What was changed: bits, and their names in the manifest. */
enum book_change {
    BOOK_RENAMED,
    BOOK_POSITIONAL,
    BOOK_MOCKED,
    BOOK_EVAL,
    BOOK_ITEM_0,
    BOOK_FEWER_IMPORTS,
};
#define BOOK_CHANGES 6
extern const char *const book_changes[BOOK_CHANGES];

struct book_program {
    enum book_reason reason; /* BOOK_KEPT: the rest is valid */
    const char *detail;      /* of the reason */
    struct str text;
    char hash[HASH_HEX]; /* equal for programs that differ only in imports,
                            docstrings, comments, layout and the class's name */
    unsigned changes;    /* 1 << enum book_change */
    /* What scaling goes by: placeholder sizes (4) in inputs and constructor, and
     * the largest number of dimensions and the number of inputs that have one. */
    size_t input_sizes, init_sizes, rank, inputs;
};

/* Every placeholder size becomes `size`; 0 leaves them. Everything in `out`
 * lives in `a`. */
void book_convert(struct book_program *out, struct str entry, struct str code,
                  int64_t size, struct arena *a);

#endif
