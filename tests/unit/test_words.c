/* test_words.c: worker/judge/words.py has the words of the tables of verdicts,
 * stages, evidence and precisions. WRITE_WORDS=1 makes it so. */
#include "base/buf.h"
#include "pack/pack_file.h"
#include "scratch.h"
#include "tap.h"
#include "verify/verdict.h"

#include <stdlib.h>

#define FILE_NAME "worker/judge/words.py"

static void begin(struct buf *b, const char *name)
{
    buf_printf(b, "%s = (\n", name);
}

static void put(struct buf *b, const char *word)
{
    buf_printf(b, "    \"%s\",\n", word);
}

static void write_out(struct buf *b)
{
    buf_puts(b,
             "\"\"\"The words of a record, from the tables of the C side "
             "(src/verify/verdict.c and\nsrc/pack/pack_file.c). Do not edit: "
             "`WRITE_WORDS=1 make unit NAME=words` writes it.\"\"\"\n\n");
    begin(b, "VERDICTS");
    for (enum verdict v = 0; v <= VERDICT_INFRA; v++)
        put(b, verdicts[v].name);
    buf_puts(b, ")\n");
    begin(b, "STAGES");
    for (enum stage s = 0; s < STAGES; s++)
        put(b, stage_names[s]);
    buf_puts(b, ")\n");
    begin(b, "EVIDENCE");
    for (enum evidence v = EVIDENCE_E0; v < EVIDENCES; v++)
        put(b, evidences[v].name);
    buf_puts(b, ")\n");
    begin(b, "PRECISIONS");
    for (enum precision p = 0; p < PRECISIONS; p++)
        put(b, precision_names[p]);
    buf_puts(b, ")\n");
    buf_printf(b, "RULES = %d  # of truth: see verdict.h\n", VERDICT_RULES);
}

SUITE(words)
{
    struct buf want = BUF_INIT;

    write_out(&want);
    if (getenv("WRITE_WORDS"))
        scratch_put(".", FILE_NAME, buf_str(&want));
    is(scratch_read(FILE_NAME), buf_str(&want),
       FILE_NAME " has the words of the tables");
    buf_release(&want);
}
