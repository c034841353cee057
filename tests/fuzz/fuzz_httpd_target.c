/* fuzz_httpd_target.c: any bytes as the target of a request, and as its Host
 * header. */
#include "io/httpd_listen.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is let through is text without control characters. */
static void check(const char *s)
{
    if (str_utf8_check(s, strlen(s)) != strlen(s))
        abort();
    for (; *s; s++)
        if ((unsigned char)*s < ' ' || *s == 127)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    struct httpd_hosts hosts = {names, 3, true};
    char *header = malloc(size + 1);
    struct httpd_target q;
    struct arena a = {0};

    if (!header)
        abort();
    if (httpd_target_parse((struct str){(const char *)data, size}, &a, &q) ==
        0) {
        if (q.path[0] != '/')
            abort();
        check(q.path);
        for (size_t i = 0; i < q.args; i++) {
            check(q.arg[i].name);
            check(q.arg[i].value);
        }
    }
    if (size)
        memcpy(header, data, size);
    header[size] = '\0';
    if (httpd_host_ok(&hosts, header) && strchr(header, '/'))
        abort();
    arena_release(&a);
    free(header);
    return 0;
}
