/* split.h: cuts text into the pieces that Qwen's tokenizers work on. It does by
 * hand what this pattern does with a regular expression engine:
 *
 *   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}
 *   | ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
 *
 * No token crosses the border between two pieces. */
#ifndef DATA_SPLIT_H
#define DATA_SPLIT_H

#include "data/unicode.h"

/* The length of the first piece of p[0..n), which is UTF-8; n > 0. The end of the
 * text matters: white space before it is one piece. */
size_t split_piece(const struct unicode *u, const char *p, size_t n);

#endif
