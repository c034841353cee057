/* test_tokens.c: vocabularies, pieces, merges, NFC and chats, with a vocabulary
 * that is small enough to see through. */
#include "base/mem.h"
#include "data/chat.h"
#include "data/tokenizer.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

/* In base64, as a .tiktoken file has them. */
static void put_token(struct buf *out, const char *p, size_t n, int id)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrs"
                                 "tuvwxyz0123456789+/";

    for (size_t i = 0; i < n; i += 3) {
        unsigned bits = (unsigned)(unsigned char)p[i] << 16;

        if (i + 1 < n)
            bits |= (unsigned)(unsigned char)p[i + 1] << 8;
        if (i + 2 < n)
            bits |= (unsigned char)p[i + 2];
        buf_putc(out, digits[bits >> 18]);
        buf_putc(out, digits[bits >> 12 & 63]);
        buf_putc(out, i + 1 < n ? digits[bits >> 6 & 63] : '=');
        buf_putc(out, i + 2 < n ? digits[bits & 63] : '=');
    }
    buf_printf(out, " %d\n", id);
}

static const char *const more[] = {"ab",   "abc",  "bc", "aa", "aaaa",    " a",
                                   "\n\n", "user", "us", "er", "\xc3\xa9"};

static void small_file(struct buf *out)
{
    int id = 0;

    buf_init(out, BUF_UNLIMITED);
    for (; id < 256; id++)
        put_token(out, (const char[]){(char)id}, 1, id);
    for (size_t i = 0; i < COUNT(more); i++)
        put_token(out, more[i], strlen(more[i]), id++);
}

static struct vocab *small_vocab(void)
{
    struct err e = ERR_INIT;
    struct vocab *v;
    struct buf b;

    small_file(&b);
    v = vocab_parse("small", (struct str){buf_str(&b), b.len}, &e);
    buf_release(&b);
    if (!v)
        BUG("%s", e.text);
    return v;
}

/* ---- files ---- */

static const char *parse_error(struct str text, struct err *e)
{
    struct vocab *v;

    *e = (struct err)ERR_INIT;
    v = vocab_parse("f", text, e);
    vocab_free(v);
    return v ? "loaded" : e->text;
}

static void test_bad_files(void)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", "f: empty; --vocab takes the vocab.json or the .tiktoken file of "
             "a Qwen model"},
        {"IQ== 0\nIg==\n",
         "f:2: not a token in base64, a space and its rank; --vocab takes the "
         "vocab.json or the .tiktoken file of a Qwen model"},
        {"IQ== 0\nIg== 0\n", "f:2: the id 0 appears twice"},
        {"IQ== 1\n", "f: there are 1 tokens, but none with id 0; is the file "
                     "complete?"},
        {"IQ== 0\nIQ== 1\n", "f: the tokens 0 and 1 have the same bytes"},
        {"IQ== 0\n", "f: no token for the byte 0x00; use the vocabulary of a "
                     "Qwen model, complete"},
        {"{\"a\": 0, \"b\"}", "f:1:13: ':' expected near '}'"},
        {"{\"a\": \"0\"}", "f: the token \"a\" has no id; a vocabulary is one "
                           "object of tokens and their ids"},
        {"{\"\\u4e00\": 0}", "f: the token \"\xe4\xb8\x80\" (id 0) is not in "
                             "the alphabet of a byte-level vocabulary"},
        {"{\"a\": 0}", "f: no token for the byte 0x00; use the vocabulary of "
                       "a Qwen model, complete"},
    };
    struct err e;

    for (size_t i = 0; i < COUNT(cases); i++)
        is(parse_error(str_of(cases[i].text), &e), cases[i].want,
           "a vocabulary that is wrong is refused with the reason");
}

static void test_lookup(void)
{
    struct vocab *v = small_vocab();
    size_t len;

    ok(vocab_size(v) == 256 + COUNT(more), "all are loaded");
    ok(vocab_find(v, "abc", 3) == 257, "a token is found by its bytes");
    ok(vocab_find(v, "abd", 3) == VOCAB_NONE, "others are not");
    ok(str_eq(vocab_bytes(v, 263), "user"), "the bytes of a token are kept");
    ok(vocab_special(v, "<|im_end|>x", 11, &len) == vocab_size(v) + 2 &&
           len == 10,
       "special tokens follow the others");
    ok(vocab_special(v, "<|im_end|", 9, &len) == VOCAB_NONE,
       "a part of a special token is text");
    vocab_free(v);
}

/* ---- pieces ---- */

static void test_pieces(void)
{
    static const struct {
        const char *text, *want, *claim;
    } cases[] = {
        {"Hello world", "Hello| world", "a space belongs to the next word"},
        {"a  b", "a| | b", "of two spaces, the second"},
        {"a \n b", "a| \n| b", "white space is cut after its last line end"},
        {"a \n\n  ", "a| \n\n|  ", "… also at the end of the text"},
        {"x12", "x|1|2", "digits are single"},
        {"it's IT'S we'Ll", "it|'s| IT|'S| we|'Ll", "short forms in any case"},
        {"'\xc5\xbfx", "'\xc5\xbf|x", "the long s is an s"},
        {"'lx 'rex", "'lx| '|rex", "other letters after a quote are a word"},
        {"f(x):\n\n  y", "f|(x|):\n\n| | y", "signs take the line ends"},
        {"(a)", "(a|)", "one sign goes with a word"},
        {"((a", "((|a", "two do not"},
        {" !! ", " !!| ", "a space before signs"},
        {"\tx", "\tx", "a tab goes with a word"},
        {"\nx", "\n|x", "a line end does not"},
        {"\xe5\xad\x97\xe3\x80\x80\xe5\xad\x97",
         "\xe5\xad\x97|\xe3\x80\x80\xe5\xad\x97", "wide space, Han letters"},
    };
    struct unicode *u = unicode_new();
    struct buf got = {.limit = 1000};

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct str s = str_of(cases[i].text);

        buf_reset(&got);
        while (s.n) {
            size_t n = split_piece(u, s.p, s.n);

            buf_printf(&got, "%s%.*s", got.len ? "|" : "", (int)n, s.p);
            s.p += n;
            s.n -= n;
        }
        is(buf_str(&got), cases[i].want, cases[i].claim);
    }
    buf_release(&got);
    unicode_free(u);
}

/* ---- merges ---- */

static void test_merges(void)
{
    struct vocab *v = small_vocab();
    struct merge m = {0};
    char text[500];

    ok(merge_piece(&m, v, "abcx", 4) == 2 && m.id[0] == 257 && m.id[1] == 'x',
       "pairs are merged again");
    ok(merge_piece(&m, v, "aab", 3) == 2 && m.id[0] == 'a' && m.id[1] == 256,
       "the pair with the lower id comes first, wherever it is");
    memset(text, 'a', sizeof(text));
    ok(merge_piece(&m, v, text, 63) == 17 && m.id[0] == 260 && m.id[16] == 'a',
       "of equal pairs, the leftmost");
    ok(merge_piece(&m, v, text, 499) == 126 && m.id[0] == 260 &&
           m.id[124] == 259 && m.id[125] == 'a',
       "the same in a long piece");
    merge_release(&m);
    vocab_free(v);
}

static void test_text(void)
{
    struct vocab *v = small_vocab();
    struct tokenizer *t = tokenizer_new(v);
    struct token_ids ids = {0};

    ok(tokenizer_count(t, STR_LIT("")) == 0, "no text, no tokens");
    ok(tokenizer_count(t, STR_LIT("e\xcc\x81")) == 1,
       "an accent joins its letter before tokens are counted");
    ok(tokenizer_count(t, STR_LIT("\xc3")) == 3,
       "a byte that is not UTF-8 is U+FFFD: three bytes");
    tokenizer_encode(t, STR_LIT("<|im_end|>\xcc\xb8"), &ids);
    ok(ids.len == 3 && ids.id[0] == vocab_size(v) + 2,
       "nothing joins a special token");
    for (int i = 0; i < 2; i++) {
        ids.len = 0;
        tokenizer_encode(t, STR_LIT("abcd abcd"), &ids);
        ok(ids.len == 5 && ids.id[0] == 257 && ids.id[1] == 'd' &&
               ids.id[2] == ' ' && ids.id[3] == 257,
           "a piece has the same tokens the second time");
    }
    token_ids_release(&ids);
    tokenizer_free(t);
    vocab_free(v);
}

/* ---- NFC ---- */

static void test_nfc(void)
{
    static const struct {
        const char *text, *want, *claim;
    } cases[] = {
        {"e\xcc\x81", "\xc3\xa9", "a letter and a mark are joined"},
        {"e\xcc\x81\xcc\x96", "\xc3\xa9\xcc\x96", "past a mark of its own"},
        {"\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8", "\xea\xb0\x81", "Hangul"},
        {"\xe2\x84\xab", "\xc3\x85", "a sign that is another letter"},
        {"a\xcc\x81\xdf\xbd", "\xc3\xa1\xdf\xbd", "a newer mark stays"},
        {"a\xdf\xbd\xcc\x81", "a\xdf\xbd\xcc\x81", "… and keeps others away"},
    };
    struct unicode *u = unicode_new();
    struct buf out = {.limit = 1000};

    for (size_t i = 0; i < COUNT(cases); i++) {
        buf_reset(&out);
        unicode_nfc(u, str_of(cases[i].text), &out);
        is(buf_str(&out), cases[i].want, cases[i].claim);
        ok(unicode_is_nfc(u, str_of(cases[i].text)) == false,
           "… and the quick test sends it there");
    }
    ok(unicode_is_nfc(u, STR_LIT("\xc3\xa9 \xe5\xad\x97 \xf0\x9f\x98\x80")),
       "the quick test knows usual text");
    buf_release(&out);
    unicode_free(u);
}

/* ---- chats ---- */

static void render(const char *name, const char *row, struct buf *out)
{
    struct err e = ERR_INIT;
    json_t *v = json_loads(row, 0, NULL);
    struct chat_message *m;
    size_t n;

    buf_reset(out);
    if (chat_messages(v, &m, &n, &e) < 0)
        buf_puts(out, e.text);
    else
        chat_render(chat_template_find(name), m, n, false, out);
    if (e.kind == ERR_NONE)
        free(m);
    json_decref(v);
}

static void test_chat(void)
{
    static const char talk[] =
        "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}, {\"role\": "
        "\"assistant\", \"content\": \"<think>\\nt\\n</think>\\n\\nb\"}, "
        "{\"role\": \"user\", \"content\": \"c\"}, {\"role\": \"assistant\", "
        "\"content\": \"d\"}]}";
    struct buf out = {.limit = 10000};

    render("qwen3", talk, &out);
    is(buf_str(&out),
       "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\nb<|im_end|>\n"
       "<|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\n<think>\n\n"
       "</think>\n\nd<|im_end|>\n",
       "old thoughts go, the last answer gets an empty block");
    render("qwen3-instruct", talk, &out);
    is(buf_str(&out),
       "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n<think>\nt\n"
       "</think>\n\nb<|im_end|>\n<|im_start|>user\nc<|im_end|>\n"
       "<|im_start|>assistant\nd<|im_end|>\n",
       "the instruct template changes nothing");
    render("qwen3",
           "{\"prompt\": [{\"role\": \"user\", \"content\": \"a\"}], "
           "\"completion\": [{\"role\": \"assistant\", \"content\": "
           "\"<think>x</think>b\"}]}",
           &out);
    is(buf_str(&out),
       "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n<think>\nx\n"
       "</think>\n\nb<|im_end|>\n",
       "the thoughts of the last answer stay");
    render("qwen3", "{\"messages\": [{\"role\": \"tool\", \"content\": \"\"}]}",
           &out);
    is(buf_str(&out),
       "message 1 of \"messages\" needs a \"role\" (system, user or assistant) "
       "and a \"content\", a string",
       "a role that the template does not know is refused");
    buf_release(&out);
}

SUITE(tokens)
{
    test_bad_files();
    test_lookup();
    test_pieces();
    test_merges();
    test_text();
    test_nfc();
    test_chat();
}
