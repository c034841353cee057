/* pg_address.c: addresses of servers, and where their passwords are. */
#include "store/pg.h"

#include "base/buf.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static const char *after_scheme(const char *text)
{
    static const char *const schemes[] = {"postgres://", "postgresql://"};

    for (size_t i = 0; i < 2; i++)
        if (strncmp(text, schemes[i], strlen(schemes[i])) == 0)
            return text + strlen(schemes[i]);
    return NULL;
}

bool pg_is_address(const char *text)
{
    return after_scheme(text) != NULL;
}

int pg_check_address(const char *address, struct err *e)
{
    const char *rest = after_scheme(address), *at;

    if (!rest)
        return err_set(e, ERR_USAGE, "an address begins with postgres://");
    at = strchr(rest, '@');
    for (const char *p = rest; *p; p++)
        if ((unsigned char)*p <= ' ' || *p == 127)
            return err_set(e, ERR_USAGE,
                           "the address has a character that must be written "
                           "as %%20 and the like");
    if (at &&
        (strchr(at + 1, '@') || strcspn(rest, "/?") < (size_t)(at - rest)))
        return err_set(e, ERR_USAGE,
                       "the address is ambiguous: within the user, the "
                       "password and the names behind the host write @ as "
                       "%%40, / as %%2F and ? as %%3F");
    return 0;
}

/* A parameter that has "pass" in its name is dropped, whatever it is. Its name
 * may be written with percent signs. */
static bool pg_is_secret(struct str name)
{
    char *plain = xstrndup(name.p, name.n);
    size_t n = 0;
    bool found;

    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];
        char hex[3] = {0};

        if (c == '%' && i + 2 < name.n) {
            memcpy(hex, name.p + i + 1, 2);
            c = (unsigned char)strtoul(hex, NULL, 16);
            i += 2;
        }
        plain[n++] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
    plain[n] = '\0';
    found = memmem(plain, n, "pass", 4) != NULL;
    free(plain);
    return found;
}

static void put_parameters(struct buf *out, struct str rest)
{
    const char *sep = "?";
    struct str part, name, value;

    while (str_part(&rest, '&', &part)) {
        value = part;
        if (!str_cut(&value, '=', &name))
            name = part;
        if (part.n == 0 || pg_is_secret(name))
            continue;
        buf_puts(out, sep);
        buf_put(out, part.p, part.n);
        sep = "&";
    }
}

/* What is before the last @ is taken for user and password. */
char *pg_shown(const char *address)
{
    const char *rest = after_scheme(address), *at, *query, *colon;
    struct buf out = BUF_INIT;

    if (!rest)
        return xstrdup(address);
    buf_put(&out, address, (size_t)(rest - address));
    at = strrchr(rest, '@');
    if (at) {
        colon = memchr(rest, ':', (size_t)(at - rest));
        buf_put(&out, rest, (size_t)((colon ? colon : at) - rest));
        rest = at;
    }
    query = strchr(rest, '?');
    buf_put(&out, rest, query ? (size_t)(query - rest) : strlen(rest));
    if (query)
        put_parameters(&out, str_of(query + 1));
    return buf_take(&out, NULL);
}
