/* fuzz_shared_row.c: a row of a shared archive, its fields separated by NULs.
 * What is accepted has a name that stays in its folder, and survives the way
 * back. */
#include "run/shared.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = {(const char *)data, size}, *field;
    struct shared_row row = {0}, again;
    struct err e = ERR_INIT;
    struct kernel k;

    for (int i = 0; i < 7; i++) {
        field =
            (struct str *[]){&row.name, &row.dsl,     &row.task,    &row.meta,
                             &row.plan, &row.sidecar, &row.solution}[i];
        if (!str_cut(&rest, '\0', field)) {
            *field = rest;
            break;
        }
    }
    if (row.sidecar.n == 0)
        row.sidecar.p = NULL;
    shared_row_seal(&row);
    if (shared_kernel_of(&row, &k, &e) < 0)
        return 0;
    if (strchr(k.name, '/') || k.name[0] == '.')
        abort();
    shared_row_of(&k, &again);
    if (strcmp(again.hash, row.hash) != 0)
        abort();
    shared_row_release(&again);
    kernel_release(&k);
    return 0;
}
