/* fuzz_pg_address.c: an address as it is shown has no password: what is between
 * the first colon of an accepted one and its @ is not in it. */
#include "store/pg.h"

#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *rest = xstrndup((const char *)data, size),
         *address = xasprintf("postgres://u:geheim@%s", rest),
         *shown = pg_shown(address), *other = xasprintf("postgres://%s", rest),
         *of_other = pg_shown(other), *twice = pg_shown(of_other);
    struct err e = ERR_INIT;

    if (strncmp(shown, "postgres://u@", 13) != 0)
        abort();
    if (pg_check_address(address, &e) == 0 && !strstr(rest, "geheim") &&
        strstr(shown, "geheim"))
        abort();
    if (strcmp(twice, of_other) != 0)
        abort();
    free(rest);
    free(address);
    free(shown);
    free(other);
    free(of_other);
    free(twice);
    return 0;
}
