/* test_frame.c: frames, whole and in pieces, with descriptors. */
#include "base/mem.h"
#include "io/frame.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static long parse(const char *text, struct frame *f)
{
    struct err e = ERR_INIT;

    return frame_parse(text, strlen(text), f, &e);
}

static void test_parsing(void)
{
    struct frame f;

    ok(parse("monkeys/1 job a/b.c:d-1 1500 5\nhelloX", &f) == 36,
       "a frame is its header and its payload");
    ok(strcmp(f.type, "job") == 0 && strcmp(f.id, "a/b.c:d-1") == 0 &&
           f.deadline_ms == 1500 && f.len == 5 &&
           memcmp(f.payload, "hello", 5) == 0,
       "all fields arrive");
    ok(parse("monkeys/1 job a 0 5\nhell", &f) == 0, "half a frame is none yet");
    ok(parse("monkeys/1 jo", &f) == 0, "half a header, too");
    ok(parse("", &f) == 0, "nothing is none yet");
    ok(parse("monkeys/2 job a 0 0\n", &f) < 0, "another version is refused");
    ok(parse("monkeys/1 Job a 0 0\n", &f) < 0, "a type has small letters");
    ok(parse("monkeys/1 job a;b 0 0\n", &f) < 0, "an id has plain characters");
    ok(parse("monkeys/1 job a -1 0\n", &f) < 0, "no negative deadline");
    ok(parse("monkeys/1 job a 0 67108865\n", &f) < 0, "no payload past 64 MiB");
    ok(parse("monkeys/1 job a 0 1x\n", &f) < 0, "no rubbish in numbers");
    ok(parse("monkeys/1  job a 0 0\n", &f) < 0, "no second blank");
}

static void test_endless_header(void)
{
    char text[400];
    struct frame f;

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    ok(parse(text, &f) < 0, "a header has an end within 300 bytes");
}

/* Reads frames off `p` until one is there or nothing comes. */
static int next(struct peer *p, struct frame *f)
{
    struct err e = ERR_INIT;
    int got = 0;

    for (int i = 0; i < 1000 && got == 0; i++) {
        got = peer_next(p, f, &e);
        if (got == 0 && peer_fill(p, &e) < 0)
            return -1;
    }
    return got;
}

static void test_both_ways(void)
{
    size_t big = (size_t)1 << 20;
    char *payload = xcalloc(1, big);
    struct frame out = {
        .type = "answer", .id = "x", .payload = payload, .len = big};
    struct frame small = {.type = "child", .id = "y", .payload = "", .len = 0};
    struct frame f;
    struct peer a, b;
    struct err e = ERR_INIT;
    int pair[2], pipes[2], fd, got = 0;

    ok(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && pipe(pipes) == 0,
       "a connection");
    peer_init(&a, pair[0]);
    peer_init(&b, pair[1]);
    peer_send(&a, &out, NULL, 0);
    peer_send(&a, &small, &pipes[1], 1);
    for (int i = 0; i < 10000 && got == 0; i++) {
        peer_flush(&a, &e);
        got = peer_next(&b, &f, &e);
        if (got == 0)
            peer_fill(&b, &e);
    }
    ok(got == 1 && f.len == big, "a megabyte goes through in pieces");
    peer_flush(&a, &e);
    ok(!peer_has_output(&a), "nothing is left to send");
    ok(next(&b, &f) == 1 && strcmp(f.type, "child") == 0, "the next follows");
    fd = peer_take_fd(&b);
    ok(fd >= 0 && peer_take_fd(&b) < 0, "its descriptor came along, once");
    ok(write(fd, "!", 1) == 1 && read(pipes[0], payload, 1) == 1 &&
           payload[0] == '!',
       "and is the one that was sent");
    close(fd);
    peer_close(&a);
    ok(next(&b, &f) < 0, "the end is told");
    peer_close(&b);
    close(pipes[0]);
    free(payload);
}

static int count(const struct frame *f, void *arg, struct err *e)
{
    size_t *n = arg;

    *n += f->len;
    return strcmp(f->type, "wrong") == 0 ? err_set(e, ERR_INPUT, "not this one")
                                         : 0;
}

static bool put(int fd, const char *type, const char *payload)
{
    struct err e = ERR_INIT;
    struct frame f = {.id = "a", .payload = payload, .len = strlen(payload)};

    snprintf(f.type, sizeof(f.type), "%s", type);
    return frame_write(fd, &f, &e) == 0;
}

static void test_file(void)
{
    char path[] = "/tmp/frame-XXXXXX";
    int made = mkstemp(path), fd, again;
    struct err e = ERR_INIT;
    size_t n = 0;

    fd = frame_file_open(path, count, &n, &e);
    ok(fd >= 0 && n == 0, "a new file has no frames");
    ok(put(fd, "job", "one") && put(fd, "job", "four"), "two are appended");
    ok(write(fd, "monkeys/1 job a 0 9\ncut", 23) == 23, "and half a one");
    ok(frame_file_read(path, count, &n, &e) == 0 && n == 7,
       "who reads gets the two, while it is open");
    again = frame_file_open(path, count, &n, &e);
    ok(again < 0 && strstr(e.text, "another process is writing to it"),
       "nobody else appends meanwhile");
    close(fd);
    e = (struct err)ERR_INIT;
    n = 0;
    fd = frame_file_open(path, count, &n, &e);
    ok(fd >= 0 && n == 7 && put(fd, "job", "later") &&
           frame_file_read(path, count, &n, &e) == 0 && n == 19,
       "the half one is cut off before the next");
    ok(put(fd, "wrong", "") && frame_file_read(path, count, &n, &e) < 0 &&
           strcmp(e.text, "not this one") == 0,
       "the reader can stop");
    close(fd);
    e = (struct err)ERR_INIT;
    ok(write(made, "not", 3) == 3 && frame_file_open(path, count, &n, &e) < 0 &&
           strstr(e.text, "at byte 0"),
       "what is no file of frames is left alone");
    ok(lseek(made, 0, SEEK_END) > 80, "whole");
    close(made);
    unlink(path);
    e = (struct err)ERR_INIT;
    ok(frame_file_read(path, count, &n, &e) == 0, "no file: no frames");
    ok(frame_file_open("/nonexistent/x", count, &n, &e) < 0 &&
           strstr(e.text, "/nonexistent/x"),
       "a file that cannot be made is named");
}

SUITE(frame)
{
    test_parsing();
    test_file();
    test_endless_header();
    test_both_ways();
}
