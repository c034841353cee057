/* test_base.c: err, buf, str, map, hash, arena, fs, json. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "scratch.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void test_err(void)
{
    struct err e = ERR_INIT;

    ok(err_set(&e, ERR_INPUT, "bad %d", 7) == -1, "err_set returns -1");
    is(e.text, "bad 7", "err_set formats");
    ok(err_exit_status(&e) == 2, "bad input exits 2");
    err_wrap(&e, "reading %s", "x.json");
    is(e.text, "reading x.json: bad 7", "err_wrap puts context in front");
    errno = ENOENT;
    err_sys(&e, "open %s", "y");
    is(e.text, "open y: No such file or directory", "err_sys says why");
    ok(e.sys == ENOENT && err_exit_status(&e) == 4, "and keeps errno");
}

static void test_buf(void)
{
    struct buf b = {.limit = 4};
    struct err e = ERR_INIT;
    size_t n;
    char *p;

    is(buf_str(&b), "", "an empty buffer reads as empty text");
    ok(buf_add(&b, "abcd", 4, &e) == 0, "up to the limit");
    ok(buf_add(&b, "e", 1, &e) < 0 && e.kind == ERR_LIMIT, "not past it");
    is(buf_str(&b), "abcd", "an add that does not fit changes nothing");
    p = buf_take(&b, &n);
    ok(n == 4 && b.len == 0, "take moves the bytes out");
    free(p);
    buf_init(&b, 100);
    buf_printf(&b, "%d-%s", 5, "x");
    buf_putc(&b, '!');
    is(buf_str(&b), "5-x!", "printf and putc append");
    buf_release(&b);
}

static void test_str(void)
{
    static const char *const names[] = {"check", "doctor", "help", "pack"};
    struct str s = STR_LIT("a=b=c"), head;
    int64_t v = 0;
    uint32_t cp;

    ok(str_cut(&s, '=', &head) && str_eq(head, "a") && str_eq(s, "b=c"),
       "cut splits at the first");
    ok(str_eq(str_trim(STR_LIT(" \tx \n")), "x"), "trim");
    ok(str_to_i64(STR_LIT("-9223372036854775808"), INT64_MIN, INT64_MAX, &v) &&
           v == INT64_MIN,
       "the smallest number");
    ok(!str_to_i64(STR_LIT("9223372036854775808"), INT64_MIN, INT64_MAX, &v),
       "one past the largest is refused");
    ok(!str_to_i64(STR_LIT("12x"), 0, 99, &v) &&
           !str_to_i64(STR_LIT(""), 0, 99, &v) &&
           !str_to_i64(STR_LIT("100"), 0, 99, &v),
       "no rubbish, no emptiness, no value outside the range");
    ok(str_utf8_check("a\xc3\xa9", 3) == 3, "UTF-8 is accepted");
    ok(str_utf8_check("a\xc0\x80", 3) == 1, "an overlong form is not");
    ok(str_utf8_check("\xed\xa0\x80", 3) == 0, "nor a surrogate");
    ok(str_utf8_check("ab\xe2\x82", 4) == 2, "nor a cut sequence");
    ok(str_utf8_cut("a\xe2\x82\xac", 4, 3) == 1 &&
           str_utf8_cut("a\xe2\x82\xac", 4, 4) == 4 &&
           str_utf8_cut("ab", 2, 1) == 1,
       "a text is cut between characters");
    ok(str_utf8_decode("\xe2\x82\xac", 3, &cp) == 3 && cp == 0x20ac, "decode");
    is(str_nearest("chekc", names, 4), "check", "a swap is near");
    ok(!str_nearest("zzzzzz", names, 4), "nothing near is nothing");
}

static void test_map(void)
{
    struct map m = {0};
    char key[16];
    bool all = true;
    int one = 1, two = 2;

    ok(!map_get(&m, STR_LIT("a")), "an empty map has nothing");
    map_set(&m, STR_LIT("a"), &one);
    map_set(&m, STR_LIT("a"), &two);
    ok(map_get(&m, STR_LIT("a")) == &two && m.len == 1, "set replaces");
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        map_set(&m, str_of(key), &one);
    }
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        all = all && map_get(&m, str_of(key)) == &one &&
              strcmp(m.items[i + 1].key, key) == 0;
    }
    ok(all && m.len == 1001, "1,000 keys are found, in order of insertion");
    map_release(&m);
}

static void test_hash(void)
{
    char hex[HASH_HEX], parts[HASH_HEX], text[200];
    struct hash h;

    hash_hex("abc", 3, hex);
    is(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
       "SHA-256 of abc");
    hash_hex("", 0, hex);
    is(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
       "SHA-256 of nothing");
    hash_hmac_hex("Jefe", STR_LIT("what do ya want for nothing?"), hex);
    is(hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
       "HMAC-SHA-256 of RFC 4231, case 2");
    memset(text, 'x', sizeof(text));
    for (size_t cut = 0; cut < sizeof(text); cut++) {
        hash_hex(text, sizeof(text), hex);
        hash_init(&h);
        hash_add(&h, text, cut);
        hash_add(&h, text + cut, sizeof(text) - cut);
        hash_finish_hex(&h, parts);
        if (strcmp(hex, parts) != 0)
            break;
    }
    is(parts, hex, "in parts as in one piece, wherever it is cut");
}

static void test_arena(void)
{
    struct arena a = {0};
    char *p;

    is(arena_printf(&a, "%s/%d", "x", 3), "x/3", "arena_printf");
    p = arena_alloc(&a, 100000);
    ok(p[0] == 0 && p[99999] == 0, "large and zeroed");
    arena_reset(&a);
    p = arena_alloc(&a, 100);
    ok(p[0] == 0 && p[99] == 0, "zeroed after a reset");
    arena_release(&a);
}

static void test_fs(void)
{
    char dir[] = "/tmp/monkeys-unit-XXXXXX";
    struct err e = ERR_INIT;
    struct fs_names names;
    struct buf b = {.limit = 100};
    char *deep, *file;

    ok(mkdtemp(dir) != NULL, "a folder of our own");
    deep = scratch_path(dir, "a/b");
    file = scratch_path(deep, "f");
    ok(fs_mkdirs(deep, &e) == 0 && fs_mkdirs(deep, &e) == 0 && fs_is_dir(deep),
       "mkdirs makes all of them, twice is no error");
    ok(fs_replace(file, "one", 3, &e) == 0 &&
           fs_replace(file, "two", 3, &e) == 0,
       "replace");
    ok(fs_read(file, &b, &e) == 0 && strcmp(buf_str(&b), "two") == 0, "read");
    ok(fs_list(deep, false, &names, &e) == 0 && names.len == 1,
       "replace leaves no other file behind");
    fs_names_release(&names);
    b.limit = 4;
    ok(fs_read(file, &b, &e) < 0 && e.kind == ERR_LIMIT, "the limit holds");
    ok(fs_read(deep, &b, &e) < 0 && e.kind == ERR_INPUT, "a folder is no file");
    ok(fs_replace("/nonexistent/x", "y", 1, &e) < 0, "a failure is reported");
    buf_release(&b);
    unlink(file);
    rmdir(deep);
    deep[strlen(deep) - 2] = '\0';
    rmdir(deep);
    rmdir(dir);
}

/* Deeper than the kernel takes a path, with a link out of it. */
static void test_remove_tree(void)
{
    char dir[] = "/tmp/monkeys-deep-XXXXXX",
         other[] = "/tmp/monkeys-kept-XXXXXX";
    const char *name = "a-folder-with-a-name-of-some-length";
    int at;

    if (!mkdtemp(dir) || !mkdtemp(other))
        BUG("no folder in /tmp");
    at = open(dir, O_PATH | O_CLOEXEC);
    for (int i = 0; i < 400; i++) {
        int next;

        close(openat(at, "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        if (symlinkat(other, at, "link") < 0 || mkdirat(at, name, 0700) < 0)
            BUG("%s: cannot make a folder", dir);
        next = openat(at, name, O_PATH | O_CLOEXEC);
        close(at);
        at = next;
    }
    close(at);
    fs_remove_tree(dir);
    ok(access(dir, F_OK) < 0, "a tree is removed, however deep it is");
    ok(fs_is_dir(other), "… but nothing that it links to");
    fs_remove_tree(other);
    ok(access(other, F_OK) < 0, "… an empty folder, too");
    fs_remove_tree(other);
}

static void test_json(void)
{
    struct err e = ERR_INIT;
    char deep[200];
    json_t *v;

    v = jsn_parse("t.json", "{\"a\": [1, 2]}", 13, &e);
    ok(v && json_array_size(json_object_get(v, "a")) == 2, "JSON parses");
    json_decref(v);
    ok(!jsn_parse("t.json", "{\"a\": }", 7, &e) &&
           strncmp(e.text, "t.json:1:", 9) == 0,
       "an error names file, line and column");
    ok(!jsn_parse("t.json", "{\"a\":1,\"a\":2}", 13, &e), "no key twice");
    memset(deep, '[', 100);
    memset(deep + 100, ']', 100);
    ok(!jsn_parse("t.json", deep, 200, &e) && strstr(e.text, "deeper"),
       "nesting has a limit");
    v = jsn_text("a\xff"
                 "b",
                 3);
    is(json_string_value(v),
       "a\xef\xbf\xbd"
       "b",
       "bad bytes are replaced");
    json_decref(v);
}

/* Jobs and records are known by the hash of their text. */
static void test_canonical_json(void)
{
    static const char *const texts[] = {
        "{}",
        "[]",
        "{\"b\": [1, -2, 3.5, 1e300, 0.1], \"a\": {\"z\": null, \"y\": true}}",
        "[\"\", \"plain\", \"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\"]",
        "{\"\xc3\xa9\": \"\xe2\x82\xac \xf0\x9f\x90\x92\", \"a\\nb\": [[], {}, "
        "false]}",
        "[\"a\\u0000b\"]"};
    struct err e = ERR_INIT;

    for (size_t i = 0; i < COUNT(texts); i++) {
        json_t *v = jsn_parse_nul("t", texts[i], strlen(texts[i]), &e);
        char *ours = jsn_canonical(v);
        char *theirs = json_dumps(v, JSON_COMPACT | JSON_SORT_KEYS);

        is(ours, theirs, "canonical text is jansson's");
        free(ours);
        free(theirs);
        json_decref(v);
    }
}

static void test_foreign_json(void)
{
#define BAD "\xef\xbf\xbd"
    static const struct {
        const char *text, *want, *claim;
    } cases[] = {
        {"\"a\\u00e4\\ud83d\\udc12\\n\\\\u0000\"",
         "a\xc3\xa4\xf0\x9f\x90\x92\n\\u0000", "what is right stays"},
        {"\"a\\u0000b\"", "a" BAD "b", "a NUL"},
        {"\"\\ud83d\\u0041\\ud83d\"", BAD "A" BAD, "half a surrogate pair"},
        {"\"\\udc12\\ud83d\\udc12\"", BAD "\xf0\x9f\x90\x92", "the other half"},
        {"\"\xc3\xa4\xc3\\n\xff\"", "\xc3\xa4" BAD "\n" BAD, "not UTF-8"},
    };
#undef BAD
    struct err e = ERR_INIT;
    json_t *v;

    for (size_t i = 0; i < COUNT(cases); i++) {
        v = jsn_parse_foreign("reply", cases[i].text, strlen(cases[i].text),
                              &e);
        is(json_string_value(v), cases[i].want, cases[i].claim);
        ok(e.kind == ERR_NONE, "… is no error");
        json_decref(v);
    }
    v = jsn_parse_foreign("reply", "{\"a\":1,\"a\":2}", 13, &e);
    ok(json_integer_value(json_object_get(v, "a")) == 2,
       "the last of two values counts");
    json_decref(v);
    ok(!jsn_parse_foreign("reply", "\"\\ud8", 6, &e) &&
           !jsn_parse_foreign("reply", "\"\\", 2, &e) &&
           !jsn_parse_foreign("reply", "", 0, &e),
       "what is cut off is no JSON");
}

SUITE(base)
{
    test_err();
    test_buf();
    test_str();
    test_map();
    test_hash();
    test_arena();
    test_fs();
    test_remove_tree();
    test_json();
    test_canonical_json();
    test_foreign_json();
}
