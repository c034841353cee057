/* summaries.c: summaries as JSON Lines. */
#include "cmd/summaries.h"

#include "base/json.h"
#include "verify/verdict.h"

#include <string.h>

void summaries_run(const struct summary *m, const char *dir)
{
    json_t *counts = json_object();

    for (enum verdict i = 0; i < VERDICTS; i++)
        json_object_set_new(counts, verdicts[i].name,
                            json_integer(m->verdict[i]));
    jsn_line(json_pack(
        "{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
        "s:I, s:I, s:I, s:I, s:b, s:I, s:o}",
        "run", jsn_text(dir, strlen(dir)), "tasks", (json_int_t)m->tasks,
        "skipped", (json_int_t)m->skipped, "solved", (json_int_t)m->solved,
        "doubted", (json_int_t)m->doubted, "aside", (json_int_t)m->aside,
        "attempts", (json_int_t)m->attempts, "duplicates",
        (json_int_t)m->duplicates, "infra", (json_int_t)m->infra, "calls",
        (json_int_t)m->calls, "answered", (json_int_t)m->answered, "failed",
        (json_int_t)m->failed, "lost", (json_int_t)m->lost, "tokens_in",
        (json_int_t)m->tokens_in, "tokens_out", (json_int_t)m->tokens_out,
        "usd_micro", (json_int_t)m->usd_micro, "reserved_usd_micro",
        (json_int_t)m->reserved_usd_micro, "estimated", m->estimated, "entries",
        (json_int_t)m->entries, "verdicts", counts));
}

void summaries_tasks(const struct summary *m)
{
    for (size_t i = 0; i < m->tasks; i++) {
        const struct summary_task *t = &m->task[i];
        json_t *shown = json_array();

        for (size_t k = 0; k < t->shown_len; k++)
            json_array_append_new(shown, json_string(t->shown[k]));
        jsn_line(json_pack(
            "{s:s, s:s?, s:s?, s:s?, s:I, s:I, s:b, s:o, s:s?, s:s?}", "task",
            t->id, "verdict", t->verdict, "rule", t->rule, "evidence",
            t->evidence, "attempts", (json_int_t)t->attempts, "solved_at",
            (json_int_t)t->solved_at, "doubted", t->doubted, "shown", shown,
            "skipped", t->skipped, "aside", t->aside));
    }
}

void summaries_examples(const struct summary *m)
{
    for (int64_t i = 0; i < m->entries; i++) {
        const struct summary_entry *x = &m->entry[i];
        json_t *stages = json_object();

        for (int k = 0; k < 3; k++)
            json_object_set_new(
                stages, prompt_stages[k],
                json_pack("{s:I, s:I}", "shown", (json_int_t)x->count[k].shown,
                          "solved", (json_int_t)x->count[k].solved));
        jsn_line(json_pack("{s:I, s:s, s:s, s:I, s:I, s:o}", "entry",
                           (json_int_t)i + 1, "name", x->name, "origin",
                           x->origin, "version", (json_int_t)x->version, "left",
                           (json_int_t)x->left, "stages", stages));
    }
}
