/* llm.c: many questions in flight to a server that takes its time. Prints a
 * JSON object: wall time, processor time a call, memory a call in flight.
 *
 *   bench-llm BASE_URL MODEL IN_FLIGHT CALLS PROMPT_BYTES whole|stream */
#include "llm/llm.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/tick.h"
#include "io/loop.h"
#include "llm/provider.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct bench {
    struct loop *loop;
    struct provider *p;
    struct llm_message message;
    long in_flight, calls, sent, answered, failed;
    int64_t warm_ns; /* when the first round was answered */
    double most_kb;  /* resident, at the worst of many looks */
    char error[200];
};

static double resident_kb(void)
{
    long pages = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (!f || fscanf(f, "%ld %ld", &pages, &resident) != 2) /* NOLINT */
        BUG("/proc/self/statm");
    fclose(f);
    return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1024;
}

static double cpu_ms(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

static void on_end(void *arg, const struct send_result *r);

static void ask(struct bench *b)
{
    struct llm_request r = {
        .message = &b->message, .count = 1, .seed = (uint64_t)b->sent};
    struct err e = ERR_INIT;

    b->sent++;
    if (!b->p->type->send(b->p, &r, on_end, b, &e))
        BUG("%s", e.text);
}

static void on_end(void *arg, const struct send_result *r)
{
    struct bench *b = arg;

    if (r->outcome == SEND_ANSWERED && r->text.n > 0) {
        b->answered++;
    } else {
        b->failed++;
        snprintf(b->error, sizeof(b->error), "%s", r->error);
    }
    if (b->answered == b->in_flight)
        b->warm_ns = tick_now_ns();
    if (b->answered % 50 == 0) {
        double kb = resident_kb();

        b->most_kb = kb > b->most_kb ? kb : b->most_kb;
    }
    if (b->sent < b->calls)
        ask(b);
}

static void run(struct bench *b)
{
    double kb = resident_kb(), cpu = cpu_ms();
    int64_t start = tick_now_ns();
    double wall_s, warm_s;

    for (long i = 0; i < b->in_flight; i++)
        ask(b);
    loop_run(b->loop);
    wall_s = (double)(tick_now_ns() - start) / (double)TICK_S;
    warm_s = (double)(tick_now_ns() - b->warm_ns) / (double)TICK_S;
    jsn_line(json_pack("{s:f, s:f, s:f, s:f, s:I, s:I, s:s}", "wall_s", wall_s,
                       "warm_s", warm_s, "cpu_ms",
                       (cpu_ms() - cpu) / (double)b->calls, "kb",
                       (b->most_kb - kb) / (double)b->in_flight, "answered",
                       (json_int_t)b->answered, "failed", (json_int_t)b->failed,
                       "error", b->error));
}

int main(int argc, char **argv)
{
    struct bench b = {0};
    struct err e = ERR_INIT;
    struct llm_opts o = {.temperature = 0.7,
                         .max_tokens = 4096,
                         .timeout_ms = 60000,
                         .insecure = true};
    size_t prompt;
    char *text;

    if (argc != 7)
        return 2;
    o.base_url = argv[1];
    o.model = argv[2];
    b.in_flight = strtol(argv[3], NULL, 10);
    b.calls = strtol(argv[4], NULL, 10);
    prompt = strtoul(argv[5], NULL, 10);
    o.in_flight = b.in_flight;
    o.stream = strcmp(argv[6], "stream") == 0;
    text = xmalloc(prompt + 1);
    memset(text, 'p', prompt);
    b.message = (struct llm_message){"user", {text, prompt}, 0};
    b.loop = loop_new(&e);
    b.p =
        b.loop ? provider_openai.open(&provider_openai, b.loop, &o, &e) : NULL;
    if (!b.p) {
        fprintf(stderr, "%s\n", e.text);
        return 2;
    }
    run(&b);
    provider_openai.close(b.p);
    loop_free(b.loop);
    free(text);
    return 0;
}
