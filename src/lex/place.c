/* place.c: offsets to lines and columns. */
#include "lex/place.h"

size_t place_bom(struct str src)
{
    return str_starts(src, "\xef\xbb\xbf") ? 3 : 0;
}

size_t place_line_end(struct str src, size_t at)
{
    if (at >= src.n)
        return 0;
    if (src.p[at] == '\r')
        return at + 1 < src.n && src.p[at + 1] == '\n' ? 2 : 1;
    return src.p[at] == '\n';
}

void place_init(struct place *p, struct str src)
{
    *p = (struct place){.at = place_bom(src), .line = 1, .column = 1};
}

void place_to(struct place *p, struct str src, size_t at)
{
    size_t stop = at < src.n ? at : src.n, i = p->at;

    while (i < stop) {
        unsigned char c = (unsigned char)src.p[i];
        size_t from = i, end;

        while (c > '\r' && c < 0x80 && ++i < stop) /* as most are */
            c = (unsigned char)src.p[i];
        p->column += (uint32_t)(i - from);
        if (i == stop)
            break;
        end = place_line_end(src, i);
        if (end > at - i) /* between \r and \n: still on this line */
            break;
        if (end) {
            p->line++;
            p->column = 1;
        } else if ((c & 0xc0) != 0x80) {
            p->column++;
        }
        i += end ? end : 1;
    }
    p->at = i > p->at ? i : p->at;
}
