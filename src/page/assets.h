/* assets.h: the files of src/page/assets, which the Makefile turns into C. */
#ifndef PAGE_ASSETS_H
#define PAGE_ASSETS_H

#include <stddef.h>

extern const unsigned char page_html[], page_css[], page_js[];
extern const size_t page_html_len, page_css_len, page_js_len;

#endif
