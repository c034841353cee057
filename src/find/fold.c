/* fold.c: drops case and underscores. */
#include "find/fold.h"

size_t fold_name(char *out, size_t max, struct str name)
{
    size_t len = 0;

    for (size_t i = 0; i < name.n && len < max; i++) {
        char c = name.p[i];

        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        if (c != '_')
            out[len++] = c;
    }
    return len;
}
