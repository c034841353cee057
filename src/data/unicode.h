/* unicode.h: text as the tokenizers of Qwen see it: what is a letter, a number or
 * white space (Unicode 16), how bytes that are not UTF-8 are read, and NFC.
 *
 * The reference is the library `tokenizers`: its patterns know Unicode 16, its
 * NFC knows Unicode 9. utf8proc has a version of its own, so both differences are
 * tables in unicode.c. Nothing here fails. */
#ifndef DATA_UNICODE_H
#define DATA_UNICODE_H

#include "base/buf.h"
#include "base/str.h"

#include <stdint.h>

enum {
    UNICODE_LETTER = 1,
    UNICODE_NUMBER = 2,
    UNICODE_SPACE = 4,
    UNICODE_LOOSE = 8, /* NFC may change it, or what is beside it */
    UNICODE_WALL = 16, /* NFC treats both sides of it apart */
};

#define UNICODE_CLASSED 0x40000u /* above are neither letters nor numbers */

/* What each code point is. Made once, read by any number of threads. */
struct unicode {
    uint8_t kind[UNICODE_CLASSED];
};

struct unicode *unicode_new(void);
void unicode_free(struct unicode *u);

static inline unsigned unicode_kind(const struct unicode *u, uint32_t cp)
{
    return cp < UNICODE_CLASSED ? u->kind[cp] : 0;
}

/* Appends the text with U+FFFD for what is not UTF-8: one for each maximal part of
 * a character, as Python's errors="replace" and Rust's from_utf8_lossy() do. */
void unicode_repair(struct str text, struct buf *out);

/* Is the text, which is UTF-8, certainly in NFC? A quick test. */
bool unicode_is_nfc(const struct unicode *u, struct str text);
/* Appends the NFC of the text, which is UTF-8. */
void unicode_nfc(const struct unicode *u, struct str text, struct buf *out);

/* The code points of a text, repaired if needed. The caller frees them. */
uint32_t *unicode_points(struct str text, size_t *len);

#endif
