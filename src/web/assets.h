/* assets.h: the files of src/web/assets, which the Makefile turns into C. */
#ifndef WEB_ASSETS_H
#define WEB_ASSETS_H

#include <stddef.h>

extern const unsigned char page_html[], page_css[], page_js[];
extern const size_t page_html_len, page_css_len, page_js_len;

#endif
