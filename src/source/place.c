/* place.c: converts offsets to lines and columns. */
#include "source/place.h"

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

void place_walk(struct place *p, struct str src, size_t at)
{
    size_t stop = at < src.n ? at : src.n;

    while (p->at < stop) {
        size_t end = place_line_end(src, p->at);

        if (end > at - p->at) /* between \r and \n: still on this line */
            break;
        if (end) {
            p->line++;
            p->column = 1;
        } else if (((unsigned char)src.p[p->at] & 0xc0) != 0x80) {
            p->column++;
        }
        p->at += end ? end : 1;
    }
}
