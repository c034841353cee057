/* fuzz_diff.c: the input up to a line "@@" as the parent, the rest as a reply
 * with edits. All edits are made, or none and the model is told why. */
#include "prompt/extract.h"
#include "source/py_lex.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str reply = {(const char *)data, size}, parent = {"", 0};
    const char *mark = size ? memmem(data, size, "\n@@\n", 4) : NULL;
    struct buf code = {.limit = PY_MAX_BYTES}, feedback = {.limit = 8192};
    enum extract_outcome outcome;

    if (mark) {
        parent = (struct str){reply.p, (size_t)(mark + 1 - reply.p)};
        reply = (struct str){mark + 4, size - parent.n - 3};
    }
    for (int cut = 0; cut < 2; cut++) {
        outcome =
            extract_diff(reply, parent, "ModelNew", cut, &code, &feedback);
        require((outcome == EXTRACT_CODE) == (code.len > 0));
        require((outcome == EXTRACT_CODE) == (feedback.len == 0));
        require(str_utf8_check(buf_str(&feedback), feedback.len) ==
                feedback.len);
        buf_release(&code);
        buf_release(&feedback);
    }
    return 0;
}
