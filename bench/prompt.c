/* prompt.c: how long one prompt takes to build, with a guide of 60 KB and three
 * examples. Prints a JSON object (bench/prompt.py): microseconds for a prompt,
 * and for hashing its messages from their beginning, which the kept state of
 * the shared start avoids.
 *
 *   bench-prompt PROMPTS_DIR PACK_DIR COUNT */
#include "prompt/prompt.h"
#include "base/fs.h"
#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Processor time, so that a busy machine does not count. */
static double cpu_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static struct str read_in(const char *dir, const char *name, struct arena *a)
{
    struct err e = ERR_INIT;
    char *path = fs_join(dir, name);
    struct buf b = {.limit = (size_t)1 << 20};
    struct str s;

    if (fs_read(path, &b, &e) < 0) {
        fprintf(stderr, "%s\n", e.text);
        exit(1);
    }
    s = (struct str){arena_strndup(a, buf_str(&b), b.len), b.len};
    buf_release(&b);
    free(path);
    return s;
}

/* The last of `count` prompts stays in `a`. */
static double build_us(struct prompts *p, const struct prompt_input *in,
                       long count, struct arena *a, struct prompt *last)
{
    struct err e = ERR_INIT;
    double start;

    if (prompts_build(p, in, a, last, &e) < 0) {
        fprintf(stderr, "%s\n", e.text);
        exit(1);
    }
    start = cpu_us();
    for (long i = 0; i < count; i++) {
        arena_reset(a);
        prompts_build(p, in, a, last, &e);
    }
    return (cpu_us() - start) / (double)count;
}

static double hash_us(const struct prompt *p, long count)
{
    double start = cpu_us();
    char hash[HASH_HEX];

    for (long i = 0; i < count; i++)
        for (size_t k = 0; k < p->count; k++)
            hash_hex(p->message[k].text.p, p->message[k].text.n, hash);
    return (cpu_us() - start) / (double)count;
}

int main(int argc, char **argv)
{
    long count = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
    struct prompt_example examples[3];
    struct problems problems;
    struct err e = ERR_INIT;
    struct prompts *p;
    struct pack *pack;
    struct prompt out;
    struct arena files = {0}, a = {0};
    double us;

    if (count < 1 || !(p = prompts_load(argv[1], &e)))
        return 2;
    problems_init(&problems);
    pack = pack_load(&(struct pack_path){NULL, 0}, argv[2], &problems);
    if (!pack || pack->seed_count < 3)
        return 2;
    for (size_t i = 0; i < 3; i++)
        examples[i] = (struct prompt_example){
            .name = pack->seed[i].name,
            .problem = read_in(pack->seed[i].dir, "task.py", &files),
            .plan = read_in(pack->seed[i].dir, "plan.md", &files),
            .solution = read_in(pack->seed[i].dir, "solution.py", &files),
            .seen = arena_alloc(&files, 2 * sizeof(*examples[i].seen))};
    us = build_us(p,
                  &(struct prompt_input){.stage = PROMPT_CODE,
                                         .pack = pack,
                                         .task_id = "bench",
                                         .task = examples[0].problem,
                                         .precision = "fp32",
                                         .device = "cpu",
                                         .example = examples,
                                         .example_count = 3,
                                         .plan = examples[0].plan},
                  count, &a, &out);
    jsn_line(json_pack("{s:f, s:f, s:I, s:I}", "build_us", us, "hash_us",
                       hash_us(&out, count), "system_bytes",
                       (json_int_t)out.message[0].text.n, "user_bytes",
                       (json_int_t)out.message[1].text.n));
    arena_release(&a);
    arena_release(&files);
    pack_free(pack);
    problems_release(&problems);
    prompts_free(p);
    return 0;
}
