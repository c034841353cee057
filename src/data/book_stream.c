/* book_stream.c: finds where objects begin and end; jansson reads them. */
#include "data/book_stream.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

#define CHUNK ((size_t)64 << 10)

void book_stream_init(struct book_stream *s, FILE *in, const char *name)
{
    *s = (struct book_stream){.in = in, .name = name, .line = 1};
    s->chunk = xmalloc(CHUNK);
    buf_init(&s->text, BOOK_STREAM_ROW);
}

void book_stream_release(struct book_stream *s)
{
    free(s->chunk);
    buf_release(&s->text);
}

static int fail(const struct book_stream *s, struct err *e, const char *what)
{
    return err_set(e, ERR_INPUT, "%s:%zu: %s (after row %zu)", s->name, s->line,
                   what, s->rows);
}

/* Makes s->chunk[s->at] readable: 1, or 0 at the end of the file. */
static int fill(struct book_stream *s, struct err *e)
{
    if (s->at < s->len)
        return 1;
    s->at = 0;
    s->len = fread(s->chunk, 1, CHUNK, s->in);
    s->bytes += s->len;
    if (!s->len && ferror(s->in))
        return err_sys(e, "%s", s->name);
    return s->len > 0;
}

/* The next character that is not white space, without taking it; 0 at the
 * end, -1 on an error. */
static int peek(struct book_stream *s, struct err *e)
{
    int rc;

    while ((rc = fill(s, e)) > 0) {
        char c = s->chunk[s->at];

        if (c == '\n')
            s->line++;
        else if (c != ' ' && c != '\t' && c != '\r')
            return (unsigned char)c ? (unsigned char)c : 1;
        s->at++;
    }
    return rc;
}

/* Takes the text of an object, from its brace to the matching one. */
static int take_text(struct book_stream *s, struct err *e)
{
    bool in_string = false, escaped = false;
    size_t depth = 0, begun = s->line, from;
    int rc;

    buf_reset(&s->text);
    while ((rc = fill(s, e)) > 0) {
        for (from = s->at; s->at < s->len;) {
            char c = s->chunk[s->at++];

            s->line += c == '\n';
            if (escaped)
                escaped = false;
            else if (in_string && c == '\\')
                escaped = true;
            else if (c == '"')
                in_string = !in_string;
            else if (!in_string && (c == '{' || c == '['))
                depth++;
            else if (!in_string && (c == '}' || c == ']') && --depth == 0)
                break;
        }
        if (buf_add(&s->text, s->chunk + from, s->at - from, e) < 0)
            return err_set(e, ERR_INPUT,
                           "%s:%zu: a row is larger than %zu MiB (after row "
                           "%zu); write an array of rows or JSON Lines, not an "
                           "object of columns",
                           s->name, begun, BOOK_STREAM_ROW >> 20, s->rows);
        if (!depth)
            return 0;
    }
    return rc < 0 ? -1
                  : err_set(e, ERR_INPUT,
                            "%s:%zu: the file ends inside row %zu, which "
                            "begins on line %zu; fetch it again",
                            s->name, s->line, s->rows + 1, begun);
}

/* What stands before the next object: nothing, a bracket or a comma. */
static int find_row(struct book_stream *s, struct err *e)
{
    int c = peek(s, e);

    if (!s->begun && c == '[') {
        s->array = true;
        s->at++;
        c = peek(s, e);
    } else if (s->array && s->begun && c == ',') {
        s->at++;
        c = peek(s, e);
        if (c == ']')
            return fail(s, e, "a comma, but no row behind it");
    } else if (s->array && s->begun && c > 0 && c != ']') {
        return fail(s, e, "expected ',' or ']'");
    }
    s->begun = true;
    if (s->array && c == ']') {
        s->at++;
        s->ended = true;
        c = peek(s, e);
        return c <= 0 ? c : fail(s, e, "text after the end of the array");
    }
    if (c < 0 || c == '{')
        return c;
    if (c == 0)
        return s->array ? fail(s, e,
                               "the file ends before its array does; "
                               "fetch it again")
                        : 0;
    return fail(s, e, "expected a row, which begins with '{'");
}

json_t *book_stream_next(struct book_stream *s, struct err *e)
{
    size_t line;
    json_t *v;

    if (s->ended)
        return NULL;
    if (find_row(s, e) <= 0) {
        s->ended = true;
        return NULL;
    }
    line = s->line;
    v = take_text(s, e) < 0
            ? NULL
            : jsn_parse_part(s->name, line, buf_str(&s->text), s->text.len, e);
    s->ended = !v;
    s->rows += v != NULL;
    return v;
}
