/* book_reason.c: the table of reasons. */
#include "data/book_reason.h"

#include <string.h>

const struct book_reason_row book_reasons[BOOK_REASONS] = {
    [BOOK_KEPT] = {"kept", "the row became a task"},
    [BOOK_FIELDS] = {"fields", "the row has no python_code or entry_point"},
    [BOOK_SYNTAX] = {"syntax", "the program cannot be tokenized"},
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
