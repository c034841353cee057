/* move_ptx.c: one kernel for copies, conversions, fills and counters. Each
 * thread takes an element, finds its address from the walk's dimensions, loads
 * it into one of four wide registers, and stores it. Conversions and rounding
 * match dtype.c. Branches depend only on the move, so threads never diverge.
 * Conversions to bytes are written out, because only newer GPUs have them. */
#include "runner/move_ptx.h"

#include <stddef.h>

/* The PTX uses these offsets as numbers. */
_Static_assert(offsetof(struct move_params, value) == 16, "see the text");
_Static_assert(offsetof(struct move_params, count) == 24, "see the text");
_Static_assert(offsetof(struct move_params, to_kind) == 32, "see the text");
_Static_assert(offsetof(struct move_params, source_kind) == 36, "see the text");
_Static_assert(offsetof(struct move_params, dims) == 40, "see the text");
_Static_assert(offsetof(struct move_params, dim) == 48, "see the text");
_Static_assert(sizeof(struct walk_dim) == 24, "see the text");
_Static_assert(sizeof(struct move_params) == 432, "see the text");

const char move_ptx_entry[] = "monkeys_move";

static const char head[] =
    ".version 7.0\n"
    ".target sm_80\n"
    ".address_size 64\n"
    ".visible .entry monkeys_move(.param .align 8 .b8 p[432])\n"
    "{\n"
    ".reg .pred %end, %wide, %last, %t, %to_f64, %to_f32, %to_int;\n"
    ".reg .b16 %h;\n"
    ".reg .b32 %a, %b, %c, %k, %dims, %to_kind, %source_kind;\n"
    ".reg .b32 %bits, %sign, %limit, %least, %ruler, %bias, %drop, %half, "
    "%over;\n"
    ".reg .f32 %f, %g;\n"
    ".reg .f64 %d;\n"
    ".reg .b64 %i, %step, %count, %rest, %index, %n, %stride;\n"
    ".reg .b64 %to, %source, %to0, %source0, %value, %v, %q, %q0;\n";

static const char start[] = "ld.param.u64 %to0, [p];\n"
                            "cvta.to.global.u64 %to0, %to0;\n"
                            "ld.param.u64 %source0, [p+8];\n"
                            "cvta.to.global.u64 %source0, %source0;\n"
                            "ld.param.u64 %value, [p+16];\n"
                            "ld.param.u64 %count, [p+24];\n"
                            "ld.param.u32 %to_kind, [p+32];\n"
                            "ld.param.u32 %source_kind, [p+36];\n"
                            "ld.param.u32 %dims, [p+40];\n"
                            "mov.b64 %q0, p;\n"
                            "setp.gt.u64 %wide, %count, 4294967295;\n"
                            "setp.eq.u32 %to_f64, %to_kind, 0;\n"
                            "setp.ge.u32 %to_int, %to_kind, 6;\n"
                            "or.pred %t, %to_f64, %to_int;\n"
                            "not.pred %to_f32, %t;\n"
                            "mov.u32 %a, %ctaid.x;\n"
                            "mov.u32 %b, %ntid.x;\n"
                            "mov.u32 %c, %tid.x;\n"
                            "mul.wide.u32 %i, %a, %b;\n"
                            "cvt.u64.u32 %n, %c;\n"
                            "add.u64 %i, %i, %n;\n"
                            "mov.u32 %a, %nctaid.x;\n"
                            "mul.wide.u32 %step, %a, %b;\n";

/* The outermost index is whatever remains, so it needs no division. The others
 * use 32 bits where that is enough. */
static const char find_place[] =
    "ELEMENT:\n"
    "setp.ge.u64 %end, %i, %count;\n"
    "@%end ret;\n"
    "mov.b64 %rest, %i;\n"
    "mov.b64 %to, %to0;\n"
    "mov.b64 %source, %source0;\n"
    "add.u64 %q, %q0, 48;\n"
    "mov.b32 %k, %dims;\n"
    "DIMENSION:\n"
    "mov.b64 %index, %rest;\n"
    "sub.u32 %k, %k, 1;\n"
    "setp.eq.u32 %last, %k, 0;\n"
    "@%last bra OFFSET;\n"
    "ld.param.u64 %n, [%q];\n"
    "@%wide bra WIDE;\n"
    "cvt.u32.u64 %a, %rest;\n"
    "cvt.u32.u64 %b, %n;\n"
    "div.u32 %c, %a, %b;\n"
    "mul.lo.u32 %b, %c, %b;\n"
    "sub.u32 %a, %a, %b;\n"
    "cvt.u64.u32 %index, %a;\n"
    "cvt.u64.u32 %rest, %c;\n"
    "bra OFFSET;\n"
    "WIDE:\n"
    "div.u64 %v, %rest, %n;\n"
    "mul.lo.u64 %n, %v, %n;\n"
    "sub.u64 %index, %rest, %n;\n"
    "mov.b64 %rest, %v;\n"
    "OFFSET:\n"
    "ld.param.u64 %stride, [%q+8];\n"
    "mad.lo.s64 %to, %index, %stride, %to;\n"
    "ld.param.u64 %stride, [%q+16];\n"
    "mad.lo.s64 %source, %index, %stride, %source;\n"
    "add.u64 %q, %q, 24;\n"
    "@!%last bra DIMENSION;\n";

/* In the order of enum dtype. An f8e5 is the upper half of an f16. The bits of
 * an f8e4 make a float that is right except for a factor. */
static const char load[] =
    "SOURCES: .branchtargets L_F64, L_F32, L_F16, L_BF16, L_F8E4, L_F8E5, "
    "L_64, L_S32, L_S16, L_S8, L_U64, L_U32, L_U16, L_U8, L_BOOL, L_ZERO;\n"
    "brx.idx %source_kind, SOURCES;\n"
    "L_F64: ld.global.f64 %d, [%source]; bra FROM_F64;\n"
    "L_F32: ld.global.f32 %f, [%source]; bra FROM_F32;\n"
    "L_F16: ld.global.b16 %h, [%source];\n"
    "cvt.f32.f16 %f, %h; bra FROM_F32;\n"
    "L_BF16: ld.global.u16 %a, [%source];\n"
    "shl.b32 %a, %a, 16;\n"
    "mov.b32 %f, %a; bra FROM_F32;\n"
    "L_F8E5: ld.global.u8 %h, [%source];\n"
    "shl.b16 %h, %h, 8;\n"
    "cvt.f32.f16 %f, %h; bra FROM_F32;\n"
    "L_F8E4: ld.global.u8 %a, [%source];\n"
    "and.b32 %b, %a, 127;\n"
    "setp.eq.u32 %t, %b, 127;\n"
    "shl.b32 %b, %b, 20;\n"
    "mov.b32 %f, %b;\n"
    "mul.rn.f32 %f, %f, 0f7B800000;\n"
    "@%t mov.f32 %f, 0f7FC00000;\n"
    "and.b32 %a, %a, 128;\n"
    "shl.b32 %a, %a, 24;\n"
    "mov.b32 %b, %f;\n"
    "or.b32 %b, %b, %a;\n"
    "mov.b32 %f, %b; bra FROM_F32;\n"
    "L_64: ld.global.u64 %v, [%source]; bra FROM_S64;\n"
    "L_S32: ld.global.s32 %v, [%source]; bra FROM_S64;\n"
    "L_S16: ld.global.s16 %v, [%source]; bra FROM_S64;\n"
    "L_S8: ld.global.s8 %v, [%source]; bra FROM_S64;\n"
    "L_U32: ld.global.u32 %v, [%source]; bra FROM_S64;\n"
    "L_U16: ld.global.u16 %v, [%source]; bra FROM_S64;\n"
    "L_U8: ld.global.u8 %v, [%source]; bra FROM_S64;\n"
    "L_BOOL: ld.global.u8 %v, [%source];\n"
    "min.u64 %v, %v, 1; bra FROM_S64;\n"
    "L_U64: ld.global.u64 %v, [%source]; bra FROM_U64;\n"
    "L_ZERO: mov.u64 %v, 0; bra FROM_U64;\n";

static const char widen[] = "FROM_F32:\n"
                            "@%to_f64 cvt.f64.f32 %d, %f;\n"
                            "bra STORE;\n"
                            "FROM_F64:\n"
                            "@%to_f32 cvt.rn.f32.f64 %f, %d;\n"
                            "bra STORE;\n"
                            "FROM_S64:\n"
                            "add.u64 %v, %v, %value;\n"
                            "@%to_f64 cvt.rn.f64.s64 %d, %v;\n"
                            "@%to_f32 cvt.rn.f32.s64 %f, %v;\n"
                            "bra STORE;\n"
                            "FROM_U64:\n"
                            "add.u64 %v, %v, %value;\n"
                            "@%to_f64 cvt.rn.f64.u64 %d, %v;\n"
                            "@%to_f32 cvt.rn.f32.u64 %f, %v;\n";

static const char store[] =
    "STORE:\n"
    "TARGETS: .branchtargets S_F64, S_F32, S_F16, S_BF16, S_F8E4, S_F8E5, "
    "S_64, S_32, S_16, S_8, S_64, S_32, S_16, S_8, S_BOOL;\n"
    "brx.idx %to_kind, TARGETS;\n"
    "S_F64: st.global.f64 [%to], %d; bra NEXT;\n"
    "S_F32: st.global.f32 [%to], %f; bra NEXT;\n"
    "S_F16: cvt.rn.f16.f32 %h, %f;\n"
    "st.global.b16 [%to], %h; bra NEXT;\n"
    "S_BF16: cvt.rn.bf16.f32 %h, %f;\n"
    "st.global.b16 [%to], %h; bra NEXT;\n"
    "S_64: st.global.u64 [%to], %v; bra NEXT;\n"
    "S_32: st.global.u32 [%to], %v; bra NEXT;\n"
    "S_16: st.global.u16 [%to], %v; bra NEXT;\n"
    "S_8: st.global.u8 [%to], %v; bra NEXT;\n"
    "S_BOOL: min.u64 %v, %v, 1;\n"
    "st.global.u8 [%to], %v; bra NEXT;\n";

/* Same as narrow() in dtype.c. */
static const char store_bytes[] = "S_F8E4:\n"
                                  "mov.b32 %limit, 0x43E80000;\n"
                                  "mov.b32 %least, 0x3C800000;\n"
                                  "mov.b32 %ruler, 0x46800000;\n"
                                  "mov.b32 %bias, 0x3C000000;\n"
                                  "mov.b32 %drop, 20;\n"
                                  "mov.b32 %half, 0x7FFFF;\n"
                                  "mov.b32 %over, 0x7E;\n"
                                  "bra NARROW;\n"
                                  "S_F8E5:\n"
                                  "mov.b32 %limit, 0x47800000;\n"
                                  "mov.b32 %least, 0x38800000;\n"
                                  "mov.b32 %ruler, 0x43000000;\n"
                                  "mov.b32 %bias, 0x38000000;\n"
                                  "mov.b32 %drop, 21;\n"
                                  "mov.b32 %half, 0xFFFFF;\n"
                                  "mov.b32 %over, 0x7C;\n"
                                  "NARROW:\n"
                                  "mov.b32 %bits, %f;\n"
                                  "shr.u32 %sign, %bits, 24;\n"
                                  "and.b32 %sign, %sign, 128;\n"
                                  "and.b32 %bits, %bits, 0x7FFFFFFF;\n"
                                  "setp.gt.u32 %t, %bits, 0x7F800000;\n"
                                  "@%t mov.b32 %over, 0x7F;\n"
                                  "setp.ge.u32 %t, %bits, %limit;\n"
                                  "@%t bra OVER;\n"
                                  "setp.lt.u32 %t, %bits, %least;\n"
                                  "@%t bra TINY;\n"
                                  "shr.u32 %a, %bits, %drop;\n"
                                  "and.b32 %a, %a, 1;\n"
                                  "add.u32 %bits, %bits, %half;\n"
                                  "add.u32 %bits, %bits, %a;\n"
                                  "sub.u32 %bits, %bits, %bias;\n"
                                  "shr.u32 %over, %bits, %drop;\n"
                                  "bra OVER;\n"
                                  "TINY:\n"
                                  "mov.b32 %f, %bits;\n"
                                  "mov.b32 %g, %ruler;\n"
                                  "add.rn.f32 %f, %f, %g;\n"
                                  "mov.b32 %bits, %f;\n"
                                  "sub.u32 %over, %bits, %ruler;\n"
                                  "OVER:\n"
                                  "or.b32 %over, %over, %sign;\n"
                                  "st.global.u8 [%to], %over;\n";

static const char end[] = "NEXT:\n"
                          "add.u64 %i, %i, %step;\n"
                          "bra ELEMENT;\n"
                          "}\n";

const char *const move_ptx_text[] = {
    head, start, find_place, load, widen, store, store_bytes, end, NULL,
};
