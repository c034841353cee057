/* fuzz_cassette.c: any bytes as a cassette: answers by their keys, or an error
 * that names the place. */
#include "base/log.h"
#include "llm/cassette.h"
#include "llm/doc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct llm_key k = {"L1/7", "refine", "code", 1};
    struct cassette_item item;
    struct err e = ERR_INIT;
    struct cassette *c;
    json_t *v;

    log_set_level(LOG_QUIET);
    c = cassette_parse("c", (const char *)data, size, &e);
    if (!c) {
        if (e.kind != ERR_INPUT || strncmp(e.text, "c:", 2) != 0)
            abort();
        return 0;
    }
    if (cassette_find(c, &k, &item)) {
        const struct send_result *r = item.result;

        /* What is read can be written. */
        v = doc_json(r);
        if (!v || json_object_size(v) == 0 || strlen(item.prompt) != 64 ||
            r->usage.cached + r->usage.written > r->usage.input)
            abort();
        json_decref(v);
    }
    cassette_close(c);
    return 0;
}
