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
    size_t to = at < src.n ? at : src.n, here = p->at, end;
    uint32_t column = p->column;

    while (here < to) {
        unsigned char c = (unsigned char)src.p[here];

        if (c != '\n' && c != '\r') {
            column += (c & 0xc0) != 0x80;
            here++;
            continue;
        }
        end = place_line_end(src, here);
        if (end > at - here) /* between \r and \n: still on this line */
            break;
        p->line++;
        column = 1;
        here += end;
    }
    p->at = here;
    p->column = column;
}
