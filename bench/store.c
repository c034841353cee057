/* store.c: what the store costs. Prints lines of "what: number unit".
 *
 *   bench-store FOLDER TEXT [ATTEMPTS]
 *
 * FOLDER is on the disk to be measured, TEXT a file of prose and code that
 * prompts are cut from. An attempt is what a two-stage method writes: two calls
 * of three rows each (open, grown, answered), five texts (two prompts, two
 * replies, a verdict's record), an attempt, three examples, a verdict. Twenty
 * are under way at once, and each waits three times for the disk: for either
 * reply and for its verdict. Processor time is that of both threads, from the
 * text to the commit. */
#include "store/store.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/tick.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

enum { AT_ONCE = 20, GUIDE = 60000, PART = 6000, SYNCS = 500, ROWS = 100000 };

struct bench {
    struct loop *loop;
    struct store *s;
    char *path;
    struct buf text;
    struct rng rng;
    bool parts; /* a prompt is a list of the hashes of its parts */
    char guide[HASH_HEX];
    int64_t bytes;    /* of all texts given */
    double making_us; /* spent on making them, which is not the store's */
};

static double cpu_us(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void open_new(struct bench *b, const char *dir)
{
    struct err e = ERR_INIT;

    b->path = fs_join(dir, "bench.db");
    unlink(b->path);
    b->s = store_open(b->path, STORE_NEW, b->loop, &e);
    if (!b->s)
        BUG("%s", e.text);
}

static void close_and_remove(struct bench *b)
{
    struct err e = ERR_INIT;

    if (store_close(b->s, &e) < 0)
        BUG("%s", e.text);
    unlink(b->path);
    free(b->path);
}

/* A text of `n` bytes that was not there before: pages of the given one. */
static void put_text(struct bench *b, size_t n, char hash[HASH_HEX])
{
    double start = cpu_us(CLOCK_THREAD_CPUTIME_ID);
    struct buf out = BUF_INIT;

    while (out.len < n) {
        size_t take = n - out.len < 1500 ? n - out.len : 1500;
        size_t at = rng_below(&b->rng, b->text.len - take);

        buf_printf(&out, "%llx\n", (unsigned long long)rng_next(&b->rng));
        buf_put(&out, b->text.data + at, take);
    }
    b->bytes += (int64_t)out.len;
    b->making_us += cpu_us(CLOCK_THREAD_CPUTIME_ID) - start;
    store_blob(b->s, (struct str){out.data, out.len}, hash);
    buf_release(&out);
}

static void put_prompt(struct bench *b, char hash[HASH_HEX])
{
    char list[3 * HASH_HEX + 16], own[HASH_HEX];
    int n;

    if (!b->parts) {
        put_text(b, GUIDE, hash);
        return;
    }
    put_text(b, PART, own);
    n = snprintf(list, sizeof(list), "[\"%s\",\"%s\"]", b->guide, own);
    b->bytes += n;
    store_blob(b->s, (struct str){list, (size_t)n}, hash);
}

static void told(const struct err *e, void *arg)
{
    (void)arg;
    if (e)
        BUG("%s", e->text);
}

static void put_call(struct bench *b, int64_t task, int64_t attempt,
                     const char *stage)
{
    char prompt[HASH_HEX], reply[HASH_HEX];
    struct row_call r = {.task = task,
                         .attempt = attempt,
                         .purpose = stage,
                         .asked = prompt,
                         .try = 1,
                         .state = "open",
                         .prompt = prompt,
                         .prompt_hash = prompt,
                         .model = "model",
                         .reserved_usd_micro = 5000,
                         .asked_at = 1};

    put_prompt(b, prompt);
    store_call(b->s, &r);
    r.reserved_usd_micro = 9000;
    store_call(b->s, &r);
    put_text(b, 8000, reply);
    r.state = "answered";
    r.reply = reply;
    store_call(b->s, &r);
    store_after(b->s, told, NULL);
}

static void put_end(struct bench *b, int64_t task, int64_t attempt)
{
    char record[HASH_HEX];

    put_text(b, 5000, record);
    store_attempt(b->s, &(struct row_attempt){.task = task,
                                              .attempt = attempt,
                                              .method = "monkeys",
                                              .plan = record,
                                              .code = record,
                                              .code_hash = record,
                                              .stage = "ran",
                                              .verdict = "wrong_values",
                                              .fitness = 0.5});
    for (int64_t i = 1; i <= 3; i++)
        store_shown(b->s, &(struct row_shown){task, attempt, i, i, 0.5, NULL});
    store_verdict(b->s, &(struct row_verdict){.task = task,
                                              .attempt = attempt,
                                              .verdict = "wrong_values",
                                              .max_rel = (double)NAN,
                                              .record = record,
                                              .feedback = record});
    store_after(b->s, told, NULL);
}

/* Hashing and compressing texts of these sizes and nothing else. */
static double bare_us(const struct bench *b, size_t prompt, int times)
{
    const size_t sizes[] = {prompt, prompt, 8000, 8000, 5000};
    size_t most = ZSTD_compressBound(prompt + 8000);
    char hash[HASH_HEX], *out = xmalloc(most);
    ZSTD_CCtx *z = ZSTD_createCCtx();
    double start = cpu_us(CLOCK_THREAD_CPUTIME_ID);

    for (int i = 0; i < times; i++)
        for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
            const char *text =
                b->text.data + (size_t)i * 997 % (b->text.len - sizes[k]);

            hash_hex(text, sizes[k], hash);
            ZSTD_compressCCtx(z, out, most, text, sizes[k], 1);
        }
    start = cpu_us(CLOCK_THREAD_CPUTIME_ID) - start;
    ZSTD_freeCCtx(z);
    free(out);
    return start / times;
}

static void mix(struct bench *b, const char *dir, bool parts, int64_t attempts)
{
    double start, bare;

    b->parts = parts;
    b->bytes = 0;
    b->making_us = 0;
    open_new(b, dir);
    put_text(b, GUIDE, b->guide);
    start = cpu_us(CLOCK_PROCESS_CPUTIME_ID) - b->making_us;
    for (int64_t i = 0; i < attempts; i += AT_ONCE) {
        for (int stage = 0; stage < 3; stage++) {
            for (int64_t k = i; k < i + AT_ONCE; k++) {
                if (stage < 2)
                    put_call(b, k % 200, k / 200, stage ? "code" : "plan");
                else
                    put_end(b, k % 200, k / 200);
            }
            loop_run(b->loop);
        }
    }
    start = cpu_us(CLOCK_PROCESS_CPUTIME_ID) - b->making_us - start;
    start /= (double)attempts;
    bare = bare_us(b, parts ? PART : GUIDE, 200);
    printf("attempt, %s: %.0f us of processor time, %.0f KB of text; hashing "
           "and compressing alone %.0f us, ratio %.1f\n",
           parts ? "prompts in parts" : "whole prompts", start,
           (double)b->bytes / 1e3 / (double)attempts, bare, start / bare);
    close_and_remove(b);
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* One row and its commit, again and again; then as fast as they can be given. */
static void rows(struct bench *b, const char *dir)
{
    int64_t *ns = xcalloc(SYNCS, sizeof(*ns)), start, all = 0;
    double alone, together;
    struct err e = ERR_INIT;

    open_new(b, dir);
    for (int64_t i = 0; i < SYNCS; i++) {
        start = tick_now_ns();
        store_shown(b->s, &(struct row_shown){1, i, 1, i, 0.5, NULL});
        if (store_sync(b->s, &e) < 0)
            BUG("%s", e.text);
        ns[i] = tick_now_ns() - start;
        all += ns[i];
    }
    qsort(ns, SYNCS, sizeof(*ns), by_size);
    alone = SYNCS / ((double)all / 1e9);
    start = tick_now_ns();
    for (int64_t i = 0; i < ROWS; i++)
        store_shown(b->s, &(struct row_shown){2, i, 1, i, 0.5, NULL});
    if (store_sync(b->s, &e) < 0)
        BUG("%s", e.text);
    together = ROWS / ((double)(tick_now_ns() - start) / 1e9);
    printf("commit of one row: median %.0f us, 99 %% below %.0f us\n",
           (double)ns[SYNCS / 2] / 1e3, (double)ns[SYNCS * 99 / 100] / 1e3);
    printf("rows: %.0f a second each by itself, %.0f together, ratio %.0f\n",
           alone, together, together / alone);
    close_and_remove(b);
    free(ns);
}

int main(int argc, char **argv)
{
    struct err e = ERR_INIT;
    struct bench b = {.loop = loop_new(&e)};
    int64_t attempts = argc > 3 ? strtoll(argv[3], NULL, 10) : 2000;

    buf_init(&b.text, BUF_UNLIMITED);
    rng_init(&b.rng, "bench");
    if (argc < 3 || !b.loop || fs_read(argv[2], &b.text, &e) < 0 ||
        b.text.len < GUIDE + 1) {
        fprintf(stderr, "usage: bench-store FOLDER TEXT [ATTEMPTS] %s\n",
                e.text);
        return 2;
    }
    mix(&b, argv[1], false, attempts);
    mix(&b, argv[1], true, attempts);
    rows(&b, argv[1]);
    buf_release(&b.text);
    loop_free(b.loop);
    return 0;
}
