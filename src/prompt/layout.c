/* layout.c: headings, length, and names that the sources do not have. */
#include "prompt/layout.h"

#include "base/map.h"

#include <ctype.h>
#include <string.h>

#define NAMES 40 /* that are reported */

static const char *const headings[] = {"Core Philosophy", "Thinking in",
                                       "Recognizing Patterns"};

static bool has_heading(struct str guide, const char *text)
{
    struct str line;

    while (str_cut(&guide, '\n', &line) || guide.n) {
        if (!line.n && guide.n && !memchr(guide.p, '\n', guide.n)) {
            line = guide;
            guide.n = 0;
        }
        if (str_starts(line, "## ") &&
            memmem(line.p, line.n, text, strlen(text)))
            return true;
    }
    return false;
}

static int64_t count_words(struct str s)
{
    int64_t n = 0;
    bool inside = false;

    for (size_t i = 0; i < s.n; i++) {
        bool space = isspace((unsigned char)s.p[i]) != 0;

        n += !space && !inside;
        inside = !space;
    }
    return n;
}

static bool in_sources(const struct sources *s, struct str name)
{
    for (size_t i = 0; i < s->len; i++)
        if (memmem(s->item[i].text.p, s->item[i].text.n, name.p, name.n))
            return true;
    return false;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == ':';
}

/* `T.copy(a, b)` names T.copy; `M x N` and `0` name nothing. */
static struct str name_in(struct str code)
{
    size_t n = 0;

    while (n < code.n && is_word(code.p[n]))
        n++;
    while (n && (code.p[n - 1] == '.' || code.p[n - 1] == ':'))
        n--;
    if (n < 3 || isdigit((unsigned char)code.p[0]))
        n = 0;
    return (struct str){code.p, n};
}

static size_t check_names(struct str guide, const struct sources *s,
                          struct buf *out)
{
    struct map seen;
    size_t found = 0;
    struct str piece;
    bool inside = false;

    map_init(&seen);
    while (str_cut(&guide, '`', &piece)) {
        struct str name = inside ? name_in(str_trim(piece)) : (struct str){0};

        inside = !inside;
        if (!name.n || map_get(&seen, name))
            continue;
        map_set(&seen, name, &seen);
        if (in_sources(s, name))
            continue;
        if (found++ < NAMES)
            buf_printf(out, "`%.*s` occurs in none of the documents\n",
                       (int)name.n, name.p);
    }
    map_release(&seen);
    return found;
}

size_t layout_check(struct str guide, const struct sources *s, int64_t words,
                    struct buf *out)
{
    size_t found = 0;
    int64_t n = count_words(guide);

    for (size_t i = 0; i < sizeof(headings) / sizeof(headings[0]); i++)
        if (!has_heading(guide, headings[i])) {
            buf_printf(out, "the heading \"## %s%s\" is missing\n", headings[i],
                       i == 1 ? " …" : "");
            found++;
        }
    if (n < words / 2 || n > words * 2) {
        buf_printf(out, "%lld words, where about %lld are wanted\n",
                   (long long)n, (long long)words);
        found++;
    }
    return found + check_names(guide, s, out);
}
