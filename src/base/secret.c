/* secret.c: the variables that contain keys and passwords. */
#include "base/secret.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const names[] = {"MONKEYS_API_KEY", "OPENAI_API_KEY",
                                    "ANTHROPIC_API_KEY", "PGPASSWORD", NULL};

/* A shorter value is not a key, and masking it would spoil ordinary words. */
#define SHORTEST 6

static bool secret_holds(const char *entry)
{
    for (size_t i = 0; names[i]; i++) {
        size_t n = strlen(names[i]);

        if (strncmp(entry, names[i], n) == 0 && entry[n] == '=')
            return true;
    }
    return false;
}

const char **secret_free_env(void)
{
    size_t n = 0, kept = 0;
    const char **env;

    while (environ[n])
        n++;
    env = xcalloc(n + 1, sizeof(*env));
    for (size_t i = 0; i < n; i++)
        if (!secret_holds(environ[i]))
            env[kept++] = environ[i];
    return env;
}

static char *secret_cut_out(char *text, const char *key)
{
    size_t n = strlen(key);
    const char *from = text, *at;
    struct buf out = BUF_INIT;

    if (n < SHORTEST || !strstr(text, key))
        return text;
    while ((at = strstr(from, key))) {
        buf_put(&out, from, (size_t)(at - from));
        buf_puts(&out, "[key]");
        from = at + n;
    }
    buf_puts(&out, from);
    free(text);
    return buf_take(&out, NULL);
}

char *secret_mask(const char *text)
{
    char *out = xstrdup(text);

    for (size_t i = 0; names[i]; i++) {
        const char *raw = getenv(names[i]); // NOLINT(concurrency-mt-unsafe)
        struct str trimmed = str_trim(str_of(raw ? raw : ""));
        char *key = xstrndup(trimmed.p, trimmed.n);

        out = secret_cut_out(out, key);
        free(key);
    }
    return out;
}
