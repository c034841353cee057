/* page.h: the page of `report` and `serve`: one HTML document with its style and
 * script inside, which requests nothing from elsewhere. src/web/assets has its
 * sources; docs/PAGE.md describes the data. */
#ifndef WEB_PAGE_H
#define WEB_PAGE_H

#include "base/buf.h"
#include "base/json.h"

#include <stdbool.h>

/* Appends the document. With `data` it is complete; NULL: it gets its data from
 * the server that it came from. */
void page_put(const json_t *data, struct buf *out);
/* Appends its Content-Security-Policy: only its own style and script, known by
 * their hashes; `served` allows requests to the server it came from. The
 * document says the same; a server says it in a header, too. */
void page_policy(bool served, struct buf *out);
/* Appends a value as JSON that is safe inside an HTML document: no '<', '>',
 * '&', U+2028 or U+2029. */
void page_json(const json_t *data, struct buf *out);

#endif
