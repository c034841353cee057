/* test_book.c: the reasons why a row of KernelBook becomes no task. */
#include "data/book.h"
#include "scratch.h"
#include "tap.h"

#include <string.h>

SUITE(book)
{
    const char *doc = scratch_read("docs/DATA.md");

    for (int i = BOOK_KEPT + 1; i < BOOK_REASONS; i++) {
        char *row = scratch_text("| `%s` | %s |", book_reasons[i].code,
                                 book_reasons[i].meaning);

        ok(strstr(doc, row) != NULL, "docs/DATA.md has: %s", row);
    }
}
