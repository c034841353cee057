/* test_book.c: the reasons why a row of KernelBook becomes no task. */
#include "base/fs.h"
#include "base/mem.h"
#include "data/book.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

SUITE(book)
{
    struct err e = ERR_INIT;
    struct buf doc;

    buf_init(&doc, BUF_UNLIMITED);
    fs_read("docs/DATA.md", &doc, &e);
    for (int i = BOOK_KEPT + 1; i < BOOK_REASONS; i++) {
        char *row = xasprintf("| `%s` | %s |", book_reasons[i].code,
                              book_reasons[i].meaning);

        ok(strstr(buf_str(&doc), row) != NULL, "docs/DATA.md has: %s", row);
        free(row);
    }
    buf_release(&doc);
}
