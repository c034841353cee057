/* book_reason.h: why a row of KernelBook becomes no task: one table of codes.
 * Manifest, help and documents use it. */
#ifndef DATA_BOOK_REASON_H
#define DATA_BOOK_REASON_H

enum book_reason {
    BOOK_KEPT,
    BOOK_FIELDS,
    BOOK_SYNTAX,
    BOOK_ENTRY,
    BOOK_COLLISION,
    BOOK_IMPORT,
    BOOK_ARGUMENTS,
    BOOK_RANDOM,
    BOOK_OUTPUT,
    BOOK_DUPLICATE,
    BOOK_UNUSABLE,
    BOOK_UNCHECKED,
};
#define BOOK_REASONS 12

struct book_reason_row {
    const char *code;
    const char *meaning;
};
extern const struct book_reason_row book_reasons[BOOK_REASONS];

/* The reason with this code, or BOOK_REASONS. */
enum book_reason book_reason_of(const char *code);

#endif
