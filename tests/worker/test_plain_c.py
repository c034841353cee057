"""What is compiled of C has nothing left to look up: no file, no name of a file, no processor."""

from __future__ import annotations

import json
import platform
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "worker"), str(ROOT / "packs" / "c-cpu")]

import c_cpu  # noqa: E402
from compiler import native_compiler  # noqa: E402
from shared import native, plain_c  # noqa: E402
from shared.native import BuildError  # noqa: E402

KERNEL = "void f(float *x) {{ {} }}\n"


def plain(source: str) -> str:
    """What is compiled of it; that it compiles is shown, too."""
    head = native_compiler.compile_libraries(native.calls(source, [("f", "p")]), c_cpu.TOOLCHAIN).partition(b"\n")[0]
    [library] = json.loads(head)["modules"]
    return library["source"]


def test_macros_are_expanded_and_every_line_stays_where_it_was() -> None:
    text = plain(
        "#include <math.h>\n#define N 4\n/* of the\n   table */\nstatic const float t[N] = {INFINITY};\n\n"
        "#if defined(__GNUC__) && !defined(NOTHING)\n#define LOOP(i) _Pragma(\"GCC ivdep\") for (int i = 0; i < N; i++)\n"
        "#endif\n#define BOTH(a, b) a##b\nvoid f(float *x)\n{\n#pragma GCC unroll N\n    LOOP(i)\n        BOTH(x, )[i] *= isnan(t[i])\n"
        "            ? M_PI : __LINE__;\n}\n"
    )
    lines = text.split("\n")
    assert lines[0] == "#include <math.h>" and lines[1:4] == ["", "", ""]
    assert lines[4].startswith("static const float t[4] = {")
    assert "#pragma GCC unroll 4" in lines and "#pragma GCC ivdep" in lines
    assert "__builtin_isnan" in text and "3.14159" in text and "define" not in text
    assert plain(text) == text  # nothing is left to do


@pytest.mark.parametrize("question", ['__has_include("/etc/passwd")', '__has_include("tmp/../kernel.c")',
                                  "__has_include(<linux/version.h>)"])  # fmt: skip
def test_a_question_about_files_has_been_answered_before_it_is_judged(question: str) -> None:
    text = plain(f"#if {question}\n#define HERE 1\n#else\n#define HERE 2\n#endif\n" + KERNEL.format("x[HERE] = 0;"))
    assert "x[1] = 0" in text or "x[2] = 0" in text
    assert "has_include" not in text and "#" not in text


@pytest.mark.parametrize("name", ["__FILE__", "__BASE_FILE__", "__DATE__", "__TIME__", "__TIMESTAMP__",
                                  "__FI\\\nLE__", "PASTE(__FI, LE__)"])  # fmt: skip
def test_names_of_files_and_times_are_constants_of_the_text(name: str) -> None:
    text = plain("#define PASTE(a, b) a##b\n" + KERNEL.format(f"x[0] = ({name})[0];"))
    assert "__" not in text


HONEST = {
    "vectors": "#include <immintrin.h>\n__attribute__((target(\"avx2,fma\"))) void f(float *x) {\n"
               "    __m256 a = _mm256_loadu_ps(x), b = _mm256_set1_ps(2);\n"
               "    _mm256_storeu_ps(x, _mm256_fmadd_ps(a, b, _mm256_max_ps(a, _mm256_setzero_ps())));\n"
               "    _mm_prefetch((const char *)x, _MM_HINT_T0);\n}\n",
    "a_transposition": "#include <xmmintrin.h>\nvoid f(float *x) {\n    __m128 a = _mm_loadu_ps(x), b = a, c = a, d = a;\n"
                       "    _MM_TRANSPOSE4_PS(a, b, c, d);\n    _mm_storeu_ps(x, _mm_shuffle_ps(a, b, _MM_SHUFFLE(3, 2, 1, 0)));\n}\n",
    "vector_types": "typedef float v8 __attribute__((vector_size(32), aligned(4), may_alias));\n"
                    "void f(float *x) { v8 a = *(v8 *)x; *(v8 *)x = __builtin_shuffle(a, (__typeof__((int __attribute__((vector_size(32)))){0})){7, 6, 5, 4, 3, 2, 1, 0}); }\n",
    "alignment": "#include <stdint.h>\nvoid f(float *restrict x) {\n    if (((uintptr_t)x & 31) == 0) { float *y = __builtin_assume_aligned(x, 32); y[0] = 1; }\n    else x[0] = 1;\n}\n",
    "memory": "#include <stdlib.h>\n#include <string.h>\nstruct s { float a[4]; _Alignas(64) int b; };\nvoid f(float *x) {\n"
              "    struct s *p = aligned_alloc(64, sizeof(*p)), *q = calloc(1, sizeof *q);\n    memcpy(p->a, x, 16); q = realloc(q, 4096);\n"
              "    x[0] = p->a[3] + q->b; free(p); free(q);\n}\n",
    "c11": "#include <tgmath.h>\n#include <complex.h>\n#include <stdbool.h>\n#include <stdalign.h>\n#include <assert.h>\n#include <stddef.h>\n"
           "#define NDEBUG\n_Static_assert(sizeof(float) == 4, \"float\");\nvoid f(float *x) {\n"
           "    alignas(32) float t[8] = {[3] = 1}; bool b = isfinite(x[0]) && !signbit(x[1]);\n"
           "    float complex z = cexpf(x[0] + x[1] * I);\n"
           "    x[0] = _Generic(x[0], float: sqrt(x[0]), default: 0) + t[3] + b + crealf(z) + NAN + HUGE_VALF + offsetof(struct {int a; }, a);\n}\n",
    "attributes": "#define HOT __attribute__((hot, always_inline, optimize(\"O3\", \"unroll-loops\")))\nstatic inline HOT float g(float v) { return v; }\n"
                  "static __attribute__((noinline, pure, unused)) float h(const float *v) { return *v; }\n"
                  "void f(float *__restrict__ x) { x[0] = g(h(x)); __asm__ __volatile__(\"\" ::: \"memory\"); }\n",
    "arguments_of_attributes": "__attribute__((format(__printf__, 1, 2), unused)) static void say(const char *form, ...) { (void)form; }\n"
                  "__attribute__((optimize(\"O3\", \"unroll-loops,tree-vectorize\"), assume_aligned(sizeof(float) * 8, 0))) float *f(float *x) {\n"
                  "    float t[8] __attribute__((aligned(8 * sizeof(float)), unused)) = {x[0]}; return x; }\n",
    "builtins": "void f(float *x) { if (__builtin_expect(x[0] > 0, 1)) x[0] = __builtin_fmaf(x[0], __builtin_sqrtf(x[1]), __builtin_popcountll(7) + __builtin_clz(9));\n"
                "    long r; if (__builtin_mul_overflow(3L, (long)x[0], &r)) __builtin_unreachable(); __builtin_prefetch(x + 64, 0, 3); }\n",
    "half_floats": "void f(float *x) { _Float16 h = (_Float16)x[0]; x[0] = (float)(h * h); }\n",
    "a_gnu_function": "#define _GNU_SOURCE\n#include <math.h>\nvoid f(float *x) { float s, c; sincosf(x[0], &s, &c); x[0] = s + exp10f(c); }\n",
    "own_function": "static float exp10f(float v) { return v; }\nvoid f(float *x) { x[0] = exp10f(x[0]); }\n",
    "types_of_what_is_given": "#define MOST(a, b) ({ typeof(a) u = (a); __typeof__(b) v = (b); u > v ? u : v; })\n"
                  "#undef M_PI\n#include <math.h>\n#undef PI\n#define PI 3.0f\nvoid f(float *x) { x[0] = MOST(x[1], PI + M_PI); }\n",
    "words": "void f(float *x) { const char *s = \"__asm__ %: # // \\\" \\\\ ?\"; int end = 0, asm_ = '\\'', _t = s[0]; x[end] = asm_ + _t; }\n",
    "options": "#pragma GCC optimize(\"O3\", \"-ffast-math\")\n#pragma GCC optimize (\"tree-vectorize,omit-frame-pointer,no-tree-loop-distribute-patterns\")\n"
               "#pragma GCC optimize 3\nvoid f(float *x) { x[0] = 0; }\n",
    "attributes_of_c23": "[[nodiscard]] static float g(float v, [[maybe_unused]] int n) { return v; }\n"
                         "void f(float *x) { [[maybe_unused]] int k = 3; switch ((int)x[0]) { case 0: x[0] = 1; [[fallthrough]]; default: x[0] += g(1, 2); } }\n",
    "pragmas": "#pragma GCC push_options\n#pragma GCC optimize(\"O3,unroll-loops\")\n#pragma GCC diagnostic ignored \"-Wunused\"\n"
               "void f(float *x) {\n#pragma omp parallel for if(8 > 4 && 1) map(to: x[0:8])\n#pragma omp simd reduction(+:s)\n    for (int i = 0; i < 8; i++) x[i] = 0;\n#pragma STDC FP_CONTRACT ON\n}\n#pragma GCC pop_options\n#pragma once\n",
}  # fmt: skip


@pytest.mark.parametrize("name", HONEST)
def test_honest_c_stays_what_it_is(name: str) -> None:
    source = HONEST[name]
    if "mmintrin" in source and platform.machine() != "x86_64":
        pytest.skip("of another processor")
    text = plain(source)
    plain_c.check(text)
    assert plain(text) == text


@pytest.mark.parametrize("define", ["#define FLT_ROUNDS FLT_ROUNDS", "#undef FLT_ROUNDS", "#und\\\nef FLT_ROUNDS"])
def test_a_word_is_not_a_headers_macro_behind_the_checks_back(define: str) -> None:
    """Headers are read again where the text is compiled: there the word would be a builtin."""
    with pytest.raises(BuildError, match=r"kernel.c: line \d: a macro of a header is undefined or defined as something else"):
        plain(f"#include <float.h>\n{define}\n" + KERNEL.format("x[0] = FLT_ROUNDS;"))


@pytest.mark.parametrize("code", [
    '__asm__(".incbin \\"/etc/passwd\\"");', '__asm("nop");', "#define P(a, b) a##b\nP(__as, m__)(\"nop\");",
    'int g(void) __asm__("system");', 'register long sp __asm__("rsp");',
])  # fmt: skip
def test_there_is_no_assembler_in_any_spelling(code: str) -> None:
    with pytest.raises(BuildError, match=r"kernel.c: line \d: inline assembler is not allowed"):
        plain(code + "\n" + KERNEL.format(""))


@pytest.mark.parametrize("body", [
    '__asm__ volatile("rdtsc" : "=a"(x[0]));', 'int v; __asm__("" : "=r"(v)); x[0] = v;',
    "x[0] = __builtin_ia32_rdtsc();", "x[0] = __rdtsc();", "x[0] = _rdtsc();", "__builtin_ia32_ldmxcsr(0x7f80);",
    "x[0] = _mm_getcsr();", "_MM_SET_ROUNDING_MODE(_MM_ROUND_UP);", "_MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);",
    "x[0] = (long)__builtin_thread_pointer();", "x[0] = (long)__builtin_return_address(0);",
    "x[0] = (long)__builtin_frame_address(0);", "x[0] = __builtin_cpu_supports(\"avx2\");",
    "unsigned v; _rdrand32_step(&v); x[0] = v;", "x[0] = *(int __seg_fs *)0x28;", "x[0] = _xgetbv(0);",
    "x[0] = (long)__builtin_extract_return_addr(x);", "x[0] = __builtin_FILE()[0];", "x[0] = __builtin_LINE();",
    "extern long _GLOBAL_OFFSET_TABLE_[]; x[0] = _GLOBAL_OFFSET_TABLE_[3];",
    "extern void *monkeys_block(unsigned long, unsigned long); monkeys_block(0, 1);",
    "extern void *__real_malloc(unsigned long); __real_malloc(1);",
    "__builtin_longjmp(0, 1);", "__builtin_apply(0, 0, 0);", "x[0] = __builtin_ia32_rdpmc(0);",
    "__builtin_ia32_pause();", "x[0] = __builtin_readcyclecounter();", "_mm_storeu_ps(x, _mm_undefined_ps());",
])  # fmt: skip
def test_what_tells_of_the_machine_is_refused(body: str) -> None:
    text = f"#include <immintrin.h>\n{KERNEL.format(body)}"
    with pytest.raises(plain_c.NotPlain, match="line 2: .* (is|are) not (allowed|there)"):
        plain_c.check(text)


@pytest.mark.parametrize("text", [
    '#include "kernel.h"', "#include <linux/version.h>", "#include </etc/passwd>", "#include <../math.h>",
    "#include <math.h> x", "#define X 1", "#if 1", "#undef isnan", "# 7 \"other.c\"", "#line 7", "#ident \"x\"",
    "/**/ #include \"x\"", "x /* y", "x // y", "%:include \"x\"", "??=include \"x\"", "x ?" "?/\n", "a \\\nb", "'\n'",
    '"a\nb"', "\fint x;", "\rint x;", "é", "int $x;", "int \\u00e9;", "x # y", "x ## y", "@", "`", '"unfinished',
    "_Pragma(\"GCC dependency \\\"x\\\"\") __COUNTER__;", "#pragma GCC dependency \"/etc/passwd\"",
    "#pragma push_macro(\"isnan\")", "#pragma GCC poison x", "#pragma redefine_extname f system",
    "#pragma weak f = g", "#pragma GCC target(\"arch=native\")", "#pragma GCC optimize(\"profile-use=/tmp/x\")",
    '__attribute__((section("x"))) int a;', '__attribute__((alias("f"))) void g(void);', "[[gnu::constructor]] void g(void);",
    "__attribute__((constructor)) void g(void) {}", "__attribute__((__ifunc__(\"r\"))) void g(void);",
    '__attribute__((target("arch=native"))) void g(void) {}', '__attribute__((aligned(__COUNTER__))) int x;',
    '__attribute__((aligned(({ __asm__("nop"); 8; })))) int x;', "int x __attribute__((unused)) = __COUNTER__;",
    'void f(void) { int x __attribute__((aligned(sizeof(({ void g(void) __attribute__((constructor)); 8L; }))))); }',
    '__attribute__((aligned(sizeof(int __attribute__((section("x"))))))) int x;', '__attribute__((aligned(_Pragma("weak f = g") 8))) int x;',
    '__attribute__((target("arch=nat" "ive"))) void g(void) {}', '#pragma GCC target("arch=nat" "ive")', "int x __attribute__((aligned(_mm_getcsr())));",
    "<:<:gnu::constructor:>:> void g(void) {}", "[<:constructor:>] void g(void) {}", "int a<:3:>;", "void g(void) <% %>",
    "[[constructor]] void g(void) {}", "[[gnu::section(\"x\")]] int a;", "x[ [ifunc(\"r\")]];", '[[aligned(__COUNTER__)]] int a;',
    "_Pragma(\"weak f = g\")", "#pragma clang attribute push(__attribute__((constructor)), apply_to = function)",
    "#pragma clang section bss(x)", "#pragma GCC optimize(\"O3\", \"profile-use\")", "#pragma GCC optimize(\"plugin=x\")",
    "#pragma GCC optimize(\"stack-protector\")", "#pragma GCC optimize(\"no-trivial-auto-var-init\")", "#pragma GCC target(\"avx2\", \"arch=native\")",
    "__has_include", "__FILE__", "__TIME__", "__INCLUDE_LEVEL__", "int monkeys_x;",
])  # fmt: skip
def test_a_text_that_is_more_than_c_is_refused(text: str) -> None:
    """No compiler has been there: this is what a judge may be sent."""
    with pytest.raises(plain_c.NotPlain):
        plain_c.check(text)


def test_a_text_takes_no_time_to_read_however_odd() -> None:
    begin = time.process_time()
    for text in ("#pragma omp " + " " * 900000 + "!", "#" * 900000, '"' * 900001, "(" * 500000, "__attribute__((" * 60000,
                 '__attribute__((optimize("' + "unroll" * 150000 + '!")))', "[ " * 400000, "x" * 2000000):  # fmt: skip
        try:
            plain_c.check(text)
        except plain_c.NotPlain:
            pass
    assert time.process_time() - begin < 20
    assert len(plain_c.flat("", '# 2000000000 "kernel.c"\nx\n# 3 "kernel.c"\ny\n', "kernel.c")) < 100000
