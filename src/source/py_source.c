/* py_source.c: refuses sources that are too large, have NUL bytes, are not
 * UTF-8, or have a coding line (PEP 263) that would make CPython read a
 * different text than we do. All of this happens before the first token. */
#include "source/py_lex_int.h"

#include <string.h>

static bool py_source_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\f';
}

static bool is_coding_char(char c)
{
    return (py_is_word(c) && (unsigned char)c < 0x80) || c == '-' || c == '.';
}

/* The codec named in a comment line, found the way CPython does it; empty when
 * the line does not name one. */
static struct str coding_of(struct str line)
{
    struct str none = {"", 0};
    size_t i = 0;

    while (i < line.n && py_source_is_blank(line.p[i]))
        i++;
    if (i == line.n || line.p[i] != '#')
        return none;
    for (; i + 7 <= line.n; i++) {
        size_t from = i + 7, to;

        if (memcmp(line.p + i, "coding", 6) != 0 ||
            (line.p[i + 6] != ':' && line.p[i + 6] != '='))
            continue;
        while (from < line.n && (line.p[from] == ' ' || line.p[from] == '\t'))
            from++;
        to = from;
        while (to < line.n && is_coding_char(line.p[to]))
            to++;
        if (to > from)
            return (struct str){line.p + from, to - from};
    }
    return none;
}

/* Whether CPython treats this codec name as UTF-8. */
static bool is_utf8_name(struct str name)
{
    static const char *const names[] = {"utf-8", "utf8", "u8", "utf",
                                        "cp65001"};
    char plain[32];

    if (name.n >= sizeof(plain))
        return false;
    for (size_t i = 0; i < name.n; i++) {
        plain[i] = name.p[i];
        if (plain[i] == '_')
            plain[i] = '-';
        else if (plain[i] >= 'A' && plain[i] <= 'Z')
            plain[i] = (char)(plain[i] - 'A' + 'a');
    }
    plain[name.n] = '\0';
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(plain, names[i]) == 0)
            return true;
    return strncmp(plain, "utf-8-", 6) == 0;
}

/* A line with only blanks or a comment: the next line may still name a
 * codec. */
static bool is_comment_line(struct str line)
{
    size_t i = 0;

    while (i < line.n && py_source_is_blank(line.p[i]))
        i++;
    return i == line.n || line.p[i] == '#' || line.p[i] == '\r';
}

/* Python's compiler also ends a line at a lone \r. Its tokenize module, which
 * functions use to read their own source, ends it only at \n. Both must find
 * UTF-8. */
static bool admit_coding(struct py_lexer *lx, const char *ends)
{
    struct str rest = {lx->src.p + lx->pos, lx->src.n - lx->pos};

    for (int i = 0; i < 2 && rest.n; i++) {
        struct str line = {rest.p, 0}, name;

        while (line.n < rest.n && !strchr(ends, line.p[line.n]))
            line.n++;
        name = coding_of(line);
        if (name.n && !is_utf8_name(name))
            return py_fail(lx, "source-encoding", (size_t)(name.p - lx->src.p),
                           "the coding line names another codec than utf-8");
        if (name.n || !is_comment_line(line))
            break;
        rest = (struct str){rest.p + line.n, rest.n - line.n};
        line.n = place_line_end(rest, 0);
        rest = (struct str){rest.p + line.n, rest.n - line.n};
    }
    return true;
}

bool py_source_admit(struct py_lexer *lx)
{
    struct str src = lx->src;
    const char *nul;
    size_t good;

    if (src.n > PY_MAX_BYTES)
        return py_fail(lx, "source-too-large", 0, "larger than 1 MiB");
    nul = src.n ? memchr(src.p, 0, src.n) : NULL;
    if (nul)
        return py_fail(lx, "source-nul", (size_t)(nul - src.p),
                       "a NUL byte in the source");
    good = str_utf8_check(src.p, src.n);
    if (good < src.n)
        return py_fail(lx, "source-encoding", good, "not UTF-8");
    lx->pos = place_bom(src);
    return admit_coding(lx, "\r\n") && admit_coding(lx, "\n");
}
