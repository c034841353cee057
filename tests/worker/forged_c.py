"""For test_forged.py: functions of a library. The recorder and the library's texts are the
candidate's entirely, and the library runs in the process that has the region."""

from __future__ import annotations

from forging import (
    RELU, SIZE, TRANSPOSE, X, Forgery, Table, call, const, copy,
    fill, new, tensor, trace, view,
)  # fmt: skip

RELU_C = """
#include <stdint.h>
void relu_kernel(const float *x, float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
}
"""
ARGS = [tensor(0), tensor(1), SIZE]


def native(text: str = RELU_C, function: object = "relu_kernel", args: object = None,
           nodes: list | None = None, buffers: list | None = None, **more: object) -> bytes:  # fmt: skip
    node = {"op": "call", "text": 0, "function": function, "args": ARGS if args is None else args}
    made = call(buffers or [X, new()], [node] if nodes is None else nodes, view(1))
    return trace(made, **({"texts": [text]} | more))


def body(code: str, head: str = "", then: str = "relu(x, y, n);") -> bytes:
    """A right relu whose function does something else, too."""
    text = RELU_C.replace("void relu_kernel", "static void relu")
    text += f"{head}\nvoid relu_kernel(const float *x, float *y, int64_t n)\n{{\n{code}\n{then}\n}}\n"
    return native(text)


SOURCE = "# Functions in C"
forgery = Table("c", SOURCE, Forgery("good", RELU, SOURCE, native()), "forger-c", "native")

# System calls that are made by hand: a text that has libc's functions for them does not get far.
RAW = """
#include <sys/syscall.h>
static long raw(long n, long a, long b, long c)
{
#ifdef __x86_64__
    __asm__ volatile("syscall" : "+a"(n) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return n;
#else
    register long x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
#endif
}
#define write(to, what, size) raw(SYS_write, to, (long)(what), size)
#define read(from, what, size) raw(SYS_read, from, (long)(what), size)
#define _exit(status) raw(SYS_exit_group, status, 0, 0)
"""
# The runner's own answer, as docs/RUNNER.md has it: a status, and nothing that went wrong.
ANSWER = RAW + """
#include <stdint.h>
#include <string.h>
static void answer(uint64_t status)
{
    unsigned char message[4 + 2088] = {0};
    uint32_t size = 2088;
    uint64_t none = ~0ull;
    memcpy(message, &size, 4);
    memcpy(message + 4, &status, 8);
    memcpy(message + 36, &none, 8);
    (void)!write(3, message, sizeof(message));
}
"""


# ---- what a trace says -----------------------------------------------------------------


forgery.add(RELU,
    no_call=native(nodes=[fill(view(1), 0.0)]),
)  # fmt: skip


@forgery(TRANSPOSE)
def a_transposition_by_moves() -> bytes:
    moved = copy(view(1, (32, 8)), view(0, (32, 8), (1, 32)))
    node = {"op": "call", "text": 0, "function": "idle", "args": []}
    made = call([X, new()], [moved, node], view(1, (32, 8)))
    return trace(made, texts=["void idle(void) {}"])


forgery.add(RELU,
    a_text_that_is_not_there=native(texts=[]),
    a_text_that_is_a_number=native(texts=[7]),
    a_text_that_is_no_unicode=native(texts=["\ud800"]),
    a_text_without_end=native("/" * (1 << 20) + RELU_C),
    a_function_that_is_not_there=native(function="other_kernel"),
    a_name_that_is_code=native(function="relu_kernel(0, 0, 0); } void more(void) { system"),
    a_name_of_two_lines=native(function="relu_kernel\n#include </etc/passwd>"),
    a_name_of_the_stubs=native(RELU_C + "void monkeys_call_relu_kernel(void) {}"),
    an_argument_that_is_text=native(args=[tensor(0), tensor(1), "256"]),
    an_argument_in_a_tuple=native(args=[tensor(0), tensor(1), {"tuple": [SIZE]}]),
    an_argument_out_of_range=native(args=[tensor(0), tensor(1), 1 << 70]),
    too_many_arguments=native(args=[tensor(0)] * 200),
    arguments_by_name=native(args={"x": tensor(0)}),
    a_number_in_the_place_of_an_address=native(args=[0, tensor(1), SIZE]),
    an_address_of_nothing=native(args=[None, tensor(1), SIZE]),
)  # fmt: skip


@forgery(RELU)
def two_ways_to_call_one_function() -> bytes:
    node = {"op": "call", "text": 0, "function": "relu_kernel"}
    return native(nodes=[node | {"args": ARGS}, node | {"args": [tensor(0)]}])


@forgery(RELU)
def a_launch_of_a_kernel() -> bytes:
    node = {"op": "launch", "kernel": 0, "grid": [1], "args": {}, "options": {}}
    return native(nodes=[node])


forgery.add(RELU,
    kernels_beside_functions=native(kernels=[{"name": "relu_kernel", "line": 1}]),
    an_output_that_is_too_small=native(buffers=[X, new(SIZE - 1)]),
)  # fmt: skip


@forgery(RELU)
def shapes_whose_product_overflows() -> bytes:
    huge = view(1, (2**41, 2**41, 0), (2**41, 2**41, 1))
    wrong = RELU_C.replace("> 0", "< 0")
    node = {"op": "call", "text": 0, "function": "relu_kernel", "args": ARGS}
    return native(wrong, nodes=[copy(huge, huge), fill(huge, 1), node])


# ---- functions that are libc's ---------------------------------------------------------


forgery.add(RELU,
    # The text has no function at all: libc's own is called.
    system_with_a_command_in_a_constant=native("#include <stdlib.h>", "system", [tensor(2, (16,))],
        buffers=[X, new(), const(0, 16)], blob=b"id > /tmp/owned\0" * 4),
    exit_by_its_name=native("#include <stdlib.h>", "exit", [0]),
)  # fmt: skip


@forgery(RELU)
def memcpy_by_its_name() -> bytes:
    args = [tensor(1), tensor(0), 4 * SIZE]
    return native("#include <string.h>", "memcpy", args)


forgery.add(RELU,
    abort_by_its_name=native("#include <stdlib.h>", "abort", []),
)  # fmt: skip


# ---- texts that bring files along ------------------------------------------------------


forgery.add(RELU,
    a_file_in_the_assembler=native(RELU_C + '__asm__(".incbin \\"/etc/passwd\\"");'),
)  # fmt: skip


@forgery(RELU)
def a_file_in_a_macro_of_the_assembler() -> bytes:
    asm = '.macro m a b\\n.\\\\a\\\\b \\"/etc/passwd\\"\\n.endm\\nm inc bin'
    return native(RELU_C + f'__asm__("{asm}");')


forgery.add(RELU,
    an_include_by_an_absolute_path=native('#include "/etc/passwd"\n' + RELU_C),
    an_include_that_climbs=native('#include "../../../../../../etc/hostname"\n' + RELU_C),
    a_text_that_does_not_end=native(RELU_C + "void more(void) {"),
    a_text_that_is_an_error=native(RELU_C + "#error no\n"),
)  # fmt: skip


# ---- libraries that speak for the runner -----------------------------------------------


@forgery(RELU)
def a_constructor_that_exits() -> bytes:
    head = "__attribute__((constructor)) static void begin(void) { _exit(0); }"
    return native(RAW + RELU_C + head)


@forgery(RELU)
def a_constructor_that_answers_and_exits() -> bytes:
    head = "__attribute__((constructor)) static void begin(void) { answer(0); _exit(0); }"
    return native(RELU_C + ANSWER + head)


@forgery(RELU)
def a_constructor_that_answers_for_all_calls() -> bytes:
    """It takes the runner's place and says that all was done."""
    head = """
__attribute__((constructor)) static void begin(void)
{
    char asked[256];
    answer(0);
    while (read(3, asked, sizeof(asked)) > 0)
        answer(0);
    _exit(0);
}"""
    return native(RELU_C + ANSWER + head)


@forgery(RELU)
def a_constructor_that_blames_the_machine() -> bytes:
    head = "__attribute__((constructor)) static void begin(void) { answer(8); _exit(0); }"
    return native(RELU_C + ANSWER + head)


forgery.add(RELU,
    a_function_that_blames_the_machine=body("answer(8); _exit(0);", ANSWER),
    a_function_that_blames_the_plan=body("answer(2); _exit(0);", ANSWER),
    two_answers_for_one_call=body("answer(0);", ANSWER, then=""),
    an_answer_of_no_kind=body("answer(77); _exit(0);", ANSWER),
    half_an_answer=body('(void)!write(3, "abc", 3); _exit(0);', ANSWER),
    an_answer_of_four_gigabytes=body('(void)!write(3, "\\xff\\xff\\xff\\xff....", 8); _exit(0);', ANSWER),
)  # fmt: skip


forgery.add(RELU, call_ms=1000,
    silence=body("for (;;) raw(SYS_ppoll, 0, 0, 0);", ANSWER),
    a_loop_without_end=body("for (volatile int i = 0;; i++) ;"),
)  # fmt: skip


# ---- functions that tell their inputs ---------------------------------------------------

LEAK = "leak of "
TELLERS = "#include <stdlib.h>\n" + ANSWER


forgery.add(RELU,
    inputs_that_are_printed=body(f'write(2, "{LEAK}", {len(LEAK)}); abort();', TELLERS),
)  # fmt: skip


forgery.add(RELU, call_ms=1000,
    inputs_that_are_printed_before_a_loop=body(f'write(2, "{LEAK}", {len(LEAK)}); for (;;) ;', TELLERS),
)  # fmt: skip


def shown_by_a_status(status: int) -> bytes:
    """The answer that a call failed, with a text."""
    code = f"""
    char message[4 + 2088] = {{0}};
    uint32_t size = 2088;
    uint64_t status = {status}, none = ~0ull;

    memcpy(message, &size, 4);
    memcpy(message + 4, &status, 8);
    memcpy(message + 36, &none, 8);
    strcpy(message + 44, "{LEAK}");
    (void)!write(3, message, sizeof(message));
    _exit(0);"""
    return body(code, TELLERS)


forgery.add(RELU,
    inputs_as_the_reason_of_a_failed_launch=shown_by_a_status(5),
    inputs_as_the_reason_of_a_bad_plan=shown_by_a_status(2),
)  # fmt: skip


# ---- functions that do not compute -----------------------------------------------------


@forgery(RELU)
def a_child_that_computes_later() -> bytes:
    code = "if (raw(SYS_clone, 17, 0, 0) == 0) { relu(x, y, n); _exit(0); }"
    return body(code, RAW, then="")


forgery.add(RELU,
    another_program=body('raw(SYS_execve, (long)"/bin/true", 0, 0);', RAW, then=""),
)  # fmt: skip


@forgery(RELU)
def code_that_is_made_at_run_time() -> bytes:
    code = """
    void *page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        abort();"""
    return body(code, "#include <stdlib.h>\n#include <sys/mman.h>")


@forgery(RELU)
def the_first_answer_again() -> bytes:
    code = "if (!done++) relu(x, memo, n);\nmemcpy(y, memo, sizeof(memo));"
    return body(code, f"#include <string.h>\nstatic float memo[{SIZE}]; static int done;", then="")


forgery.add(RELU,
    right_for_the_first_call_only=body("if (done++) return;", "static int done;"),
    a_write_before_the_output=body("y[-1] = 0;"),
    a_write_behind_the_output=body("y[n] = 0;"),
    a_write_into_the_input=body("((float *)x)[0] += 1;"),
    a_write_into_the_input_afterwards=body("relu(x, y, n); ((float *)x)[0] += 1;", then=""),
    an_address_of_its_own=body("*(volatile int *)8 = 1;"),
    the_region_unmapped=body("raw(SYS_munmap, (uintptr_t)y & ~4095ul, 4096, 0);", RAW),
    the_runner_killed=body("__builtin_trap();"),
)  # fmt: skip


@forgery(RELU)
def a_stack_without_end() -> bytes:
    head = "static int down(int n) { volatile char a[4096]; a[0] = 1; return down(n + 1) + a[0]; }"
    return body("if (down(0)) return;", head)


@forgery(RELU)
def a_library_of_torch() -> bytes:
    code = 'void *torch = dlopen("libtorch_cpu.so", RTLD_NOW);\nif (!torch) abort();'
    return body(code, "#include <stdlib.h>\n#include <dlfcn.h>", then="")
