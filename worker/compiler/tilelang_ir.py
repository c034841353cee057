"""What a recorded TileLang kernel may contain. It travels as the JSON that TVM writes of a
PrimFunc, from a hostile recorder; it is checked here, as JSON, before TVM reads a byte of it.

The list is of what is allowed: kinds of nodes, operators, attributes of the function, pass
configurations and compiler flags. So nothing gets in that calls other code (packed and
external functions, assembler, imported sources). The generated source contains names and
texts of the IR, which therefore are words and nothing else."""

import json
import re

MOST_BYTES = 1 << 20  # of a kernel's JSON
_NODES = 200_000

_FUNCTION = "tirx.PrimFunc"
_KINDS = frozenset(
    """None ffi.Array ffi.Map ffi.String bool int float
    ir.DictAttrs ir.FloatImm ir.IntImm ir.Op ir.PointerType ir.PrimType ir.Range ir.SourceName
    ir.Span ir.TupleType
    relax.FuncStructInfo relax.PrimStructInfo relax.ShapeStructInfo relax.TensorStructInfo
    relax.TupleStructInfo relax.ObjectStructInfo relax.expr.ShapeExpr
    tirx.Add tirx.AllocBuffer tirx.And tirx.AssertStmt tirx.AttrStmt tirx.Bind tirx.Broadcast
    tirx.Buffer tirx.BufferLoad tirx.BufferRegion tirx.BufferStore tirx.Call tirx.Cast
    tirx.DeclBuffer tirx.Div tirx.EQ tirx.Evaluate tirx.FloorDiv tirx.FloorMod tirx.For tirx.GE
    tirx.GT tirx.IfThenElse tirx.IndexMap tirx.IterVar tirx.LE tirx.LT tirx.Let
    tirx.MatchBufferRegion tirx.Max tirx.Min tirx.Mod tirx.Mul tirx.NE tirx.Not tirx.Or
    tirx.PrimFunc tirx.Ramp tirx.SBlock tirx.SBlockRealize tirx.Select tirx.SeqStmt tirx.Shuffle
    tirx.SizeVar tirx.StringImm tirx.Sub tirx.Var tirx.While
    tl.Fragment tl.Layout tl.SwizzledLayout tl.ComposedLayout""".split()
)

_OPERATORS = frozenset(
    """tirx.acos tirx.acosh tirx.address_of tirx.asin tirx.asinh tirx.assume tirx.atan tirx.atan2
    tirx.atanh tirx.bitwise_and tirx.bitwise_not tirx.bitwise_or tirx.bitwise_xor
    tirx.break_loop tirx.ceil tirx.clz tirx.continue_loop tirx.copysign tirx.cos tirx.cosh
    tirx.dp4a tirx.erf tirx.exp tirx.exp10 tirx.exp2 tirx.fabs tirx.floor tirx.fma tirx.fmod
    tirx.hypot tirx.if_then_else tirx.isfinite tirx.isinf tirx.isnan tirx.large_uint_imm
    tirx.ldexp tirx.likely tirx.log tirx.log10 tirx.log1p tirx.log2 tirx.nearbyint
    tirx.nextafter tirx.popcount tirx.pow tirx.reinterpret tirx.ret tirx.round tirx.rsqrt
    tirx.shift_left tirx.shift_right tirx.sigmoid tirx.sin tirx.sinh tirx.sqrt tirx.tan
    tirx.tanh tirx.thread_return tirx.trunc tirx.tvm_access_ptr tirx.tvm_storage_sync
    tirx.tvm_tuple tirx.tvm_warp_activemask tirx.tvm_warp_shuffle tirx.tvm_warp_shuffle_down
    tirx.tvm_warp_shuffle_up tirx.undef tirx.vectorcombine tirx.vectorhigh tirx.vectorlow
    tirx.ptx_arrive_barrier tirx.ptx_arrive_barrier_expect_tx tirx.ptx_commit_group
    tirx.ptx_cp_async_barrier tirx.ptx_init_barrier_thread_count tirx.ptx_wait_barrier
    tirx.ptx_wait_group
    tl.GemmWarpPolicy tl.__cos tl.__exp tl.__exp10 tl.__ffs tl.__fns tl.__ldg tl.__log
    tl.__log10 tl.__log2 tl.__sin tl.__tan tl.abs2 tl.access_ptr tl.activemask tl.add2 tl.all_of
    tl.all_sync tl.annotate_consumer_reg_alloc tl.annotate_producer_reg_dealloc tl.any_of
    tl.any_sync tl.atomic_add_elem_op tl.atomic_add_ret_elem_op tl.atomic_addx2_elem_op
    tl.atomic_addx2_ret_elem_op tl.atomic_addx4_elem_op tl.atomic_addx4_ret_elem_op
    tl.atomic_load_elem_op tl.atomic_max_elem_op tl.atomic_max_ret_elem_op
    tl.atomic_min_elem_op tl.atomic_min_ret_elem_op tl.atomic_or_elem_op
    tl.atomic_store_elem_op tl.ballot tl.ballot_sync tl.block_rank_in_cluster tl.clamp
    tl.cluster_arrive tl.cluster_arrive_relaxed tl.cluster_sync tl.cluster_wait
    tl.conflict_hint tl.device_assert tl.fast_rcp tl.fence_proxy_async tl.fma tl.fma2 tl.fmul
    tl.get_lane_idx tl.get_warp_group_idx tl.get_warp_idx tl.get_warp_idx_sync tl.ieee_add
    tl.ieee_fdiv tl.ieee_fmaf tl.ieee_frcp tl.ieee_frsqrt tl.ieee_fsqrt tl.ieee_mul tl.ieee_sub
    tl.infinity tl.launch_thread_idx tl.ldg128 tl.ldg256 tl.ldg32 tl.ldg64 tl.lds128 tl.lds32
    tl.lds64 tl.loop_break tl.match_all_sync tl.match_any_sync tl.max2 tl.max2_nan tl.max_nan
    tl.mbarrier_expect_tx tl.mbarrier_wait_parity tl.min2 tl.min2_nan tl.min_nan tl.mul2
    tl.named_barrier_arrive tl.no_set_max_nreg tl.pack_b16 tl.pack_b8x4 tl.pdl_sync
    tl.pdl_trigger tl.pow_of_int tl.ptx_arrive_cluster_barrier tl.ptx_cp_async
    tl.ptx_cp_async_barrier_noinc tl.ptx_fence_barrier_init tl.reducer_update tl.region
    tl.rng_init tl.rng_rand tl.rng_rand_float tl.round_ties_away_from_zero tl.set_max_nreg
    tl.shfl_down_sync tl.shfl_sync tl.shfl_up_sync tl.shfl_xor_sync tl.stg128 tl.stg256 tl.stg32
    tl.stg64 tl.sts128 tl.sts32 tl.sts64 tl.sub2 tl.sync_grid tl.sync_warp tl.syncthreads_and
    tl.syncthreads_count tl.syncthreads_or tl.tileop.async_copy tl.tileop.atomicadd
    tl.tileop.atomicmax tl.tileop.atomicmin tl.tileop.c2d_im2col tl.tileop.copy
    tl.tileop.cummax tl.tileop.cumsum tl.tileop.fill tl.tileop.finalize_reducer
    tl.tileop.finalize_reducer_v2 tl.tileop.gemm tl.tileop.gemm_blockscaled tl.tileop.gemm_sp
    tl.tileop.im2col tl.tileop.reduce tl.tileop.reducer_init tl.tileop.tma_copy
    tl.tileop.transpose tl.tileop.wgmma_gemm tl.tileop.wgmma_gemm_sp tl.tl_shuffle_elect
    tl.tma_store_arrive tl.tma_store_wait tl.wait_wgmma tl.warp_reduce_bitand
    tl.warp_reduce_bitor tl.warp_reduce_max tl.warp_reduce_min tl.warp_reduce_sum
    tl.warpgroup_arrive tl.warpgroup_commit_batch tl.warpgroup_fence_operand
    tl.warpgroup_wait""".split()
)

_FUNCTION_ATTRIBUTES = {"global_symbol", "tirx.noalias", "tilelang_out_idx"}
_PRAGMAS = {"pragma_unroll_explicit", "pragma_unroll_factor", "pragma_auto_unroll_max_step"}
_WORDS = re.compile(r"[A-Za-z0-9_. -]{0,200}")  # no quotes, brackets, operators
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")
_FILE = re.compile(r"[\w./<>-]{0,300}")
_DTYPE = re.compile(r"[a-z][a-z0-9_]{0,40}(x[0-9]{1,4})?|")
# Fields that are numbers by themselves; the others are indices of nodes.
_PLAIN = {"line", "column", "end_line", "end_column", "ndim", "kind", "iter_type",
          "data_alignment", "offset_factor", "buffer_type"}  # fmt: skip

# Pass configurations: how code is generated, never where files go or what is printed.
_SWITCHES = frozenset(
    """tl.disable_buffer_init_check tl.disable_data_race_check tl.disable_warp_specialized
    tl.enable_auto_schedule tl.enable_auto_warp_specialization tl.enable_fast_math
    tl.reducer_force_baseline tl.disable_tma_lower tl.disable_safe_memory_legalize
    tl.disable_vectorize_256 tl.enable_fp32x2_reduction tl.enable_async_copy
    tl.enable_lower_ldgstg tl.enable_lower_ldgstg_predicated tl.disable_wgmma
    tl.enable_aggressive_shared_memory_merge tl.disable_shared_memory_reuse
    tl.disable_shuffle_elect tl.disable_loop_unswitching
    tl.loop_unswitching_allow_non_trivial_else tl.if_stmt_binding_inline_replayable_binds
    tl.disable_thread_storage_sync tl.force_let_inline tl.storage_rewrite_detect_inplace
    tl.disable_out_of_bound_warning tir.enable_equiv_terms_in_cse_tir tirx.disable_cse_tir
    tirx.disable_storage_rewrite tirx.disable_vectorize tirx.use_async_copy
    tirx.merge_static_smem tirx.noalias""".split()
)
_NUMBERS = {"tl.config_index_bitwidth": (32, 64), "tl.ptxas_register_usage_level": (0, 10)}
_FLAG = re.compile(
    r"-O[0-3]|-lineinfo|-w|--?use_fast_math|--?(ftz|prec-div|prec-sqrt|fmad)=(true|false)"
    r"|--?maxrregcount=[0-9]{1,3}|--expt-(relaxed-constexpr|extended-lambda)"
    r"|--ptxas-options=(-v|--verbose|-O[0-3]|--register-usage-level=[0-9]{1,2})"
    r"|-D[A-Z][A-Z0-9_]{0,60}(=[0-9]{1,9})?"
)


class Denied(Exception):
    """The kernel contains something that is not on the list; the text is for whoever wrote
    it."""


def check_ir(text: str) -> None:
    """Denied unless `text` is the JSON of one PrimFunc made of what is allowed."""
    if len(text) > MOST_BYTES:
        raise Denied(f"the kernel's IR has {len(text)} bytes; at most {MOST_BYTES} are allowed")
    try:
        graph = json.loads(text)
        nodes, root = graph["nodes"], graph["root_index"]
        kinds = [_ir_kind(node) for node in nodes]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Denied("the kernel's IR is not the JSON that TVM writes") from None
    if len(nodes) > _NODES or type(root) is not int or not 0 <= root < len(nodes):
        raise Denied("the kernel's IR has no root, or too many nodes")
    if kinds[root] != _FUNCTION or kinds.count(_FUNCTION) != 1:
        raise Denied("the kernel's IR is not one function")
    for index, node in enumerate(nodes):
        _check_node(node, index, nodes)
    _check_function(nodes[root], nodes)


def _ir_kind(node: dict) -> str:
    kind = node["type"]
    if not isinstance(kind, str) or kind not in _KINDS:
        raise Denied(f"{str(kind)[:80]} is not allowed in a kernel")
    if not node.keys() <= {"type", "data"}:
        raise Denied("a node of the IR has other fields than a type and data")
    return kind


def _check_node(node: dict, index: int, nodes: list) -> None:
    kind, data = node["type"], node.get("data")
    if kind == "ir.Op":
        if data not in _OPERATORS:
            raise Denied(f"the operator {_short(data)} is not allowed in a kernel")
    elif kind == "ffi.String":
        _check_text(data)
    elif kind == "ir.SourceName":
        if not isinstance(data, str) or not _FILE.fullmatch(data):
            raise Denied("the name of a source file has characters that are not allowed")
    elif kind in ("ffi.Array", "ffi.Map"):
        if not isinstance(data, list):
            raise Denied("something in the IR should be a list")
        for part in data:
            _check_index(part, index)
    elif kind.startswith(("ir.", "tirx.", "relax.", "tl.")):
        _check_fields(kind, data, index, nodes)
    elif data is not None and not isinstance(data, (bool, int, float)):
        raise Denied(f"a value of the IR is a {type(data).__name__}")


def _check_fields(kind: str, data: object, index: int, nodes: list) -> None:
    """Nodes come after those that they refer to, so there are no cycles."""
    if not isinstance(data, dict) or len(data) > 40:
        raise Denied(f"a node {kind} has no fields")
    for name, value in data.items():
        if name == "dtype":
            if not isinstance(value, str) or not _DTYPE.fullmatch(value):
                raise Denied(f"the dtype {_short(value)}")
        elif isinstance(value, str):
            _check_text(value)
        elif isinstance(value, int) and not isinstance(value, bool):
            if name not in _PLAIN and kind not in ("ir.IntImm", "ir.FloatImm"):
                _check_index(value, index)
        elif value is not None and not isinstance(value, (bool, float)):
            raise Denied(f"the field {_short(name)} of {kind} is a {type(value).__name__}")
    if kind == "tirx.Call" and _ir_at(nodes, data.get("op")).get("type") != "ir.Op":
        raise Denied("a kernel calls something else than an operator")


def _check_function(node: dict, nodes: list) -> None:
    attributes = _ir_at(nodes, node["data"].get("attrs"))
    if attributes.get("type") == "None":
        return
    held = _ir_at(nodes, (attributes.get("data") or {}).get("__dict__"))
    if attributes.get("type") != "ir.DictAttrs" or held.get("type") != "ffi.Map":
        raise Denied("the attributes of the kernel cannot be read")
    for key, value in zip(held["data"][::2], held["data"][1::2]):
        name = _ir_at(nodes, key).get("data")
        if name not in _FUNCTION_ATTRIBUTES:
            raise Denied(f"the attribute {_short(name)} of a kernel is not allowed")
        if name == "global_symbol" and not _NAME.fullmatch(str(_ir_at(nodes, value).get("data"))):
            raise Denied("the name of a kernel is no identifier")


def _ir_at(nodes: list, index: object) -> dict:
    if type(index) is not int or not 0 <= index < len(nodes):
        raise Denied("the IR refers to a node that is not there")
    return nodes[index]


def _check_index(value: object, before: int) -> None:
    if type(value) is not int or not 0 <= value < before:
        raise Denied("the IR refers to a node that comes later")


def _check_text(value: object) -> None:
    if not isinstance(value, str) or not _WORDS.fullmatch(value):
        raise Denied(f"the text {_short(value)}: names and texts in a kernel are letters, digits, "
                     "blanks, '_', '.' and '-'")  # fmt: skip
    if value.startswith("pragma_") and value not in _PRAGMAS:
        raise Denied(f"{value} is not allowed in a kernel")


def _short(value: object) -> str:
    return repr(value)[:80]


# ---- configurations ----------------------------------------------------------------


def check_configuration(configs: object, flags: object) -> None:
    """Pass configurations and flags of nvcc, as JSON."""
    if not isinstance(configs, dict) or len(configs) > 100:
        raise Denied("pass_configs are not a dictionary")
    for name, value in configs.items():
        low, high = _NUMBERS.get(name, (0, 1))
        known = name in _SWITCHES or name in _NUMBERS
        if not known or not isinstance(value, (bool, int)) or not low <= value <= high:
            raise Denied(f"the pass configuration {_short(name)}: {_short(value)} is not allowed")
    if not isinstance(flags, list) or len(flags) > 40:
        raise Denied("compile_flags are not a list")
    for flag in flags:
        if not isinstance(flag, str) or not _FLAG.fullmatch(flag):
            raise Denied(f"the compiler flag {_short(flag)} is not allowed")
