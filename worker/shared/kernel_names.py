"""The names of the kernel languages: what a kernel may take from which module. A literal
list, so that nothing a library happens to import can be reached through it."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Names:
    """What a module of the language offers. A function may only be called: as a value it
    could be called under another name. A class may be called and stand in isinstance()."""

    functions: frozenset[str] = frozenset()
    classes: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()
    modules: dict[str, str] = field(default_factory=dict)  # attribute -> key of NAMES


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DTYPES = _words("""
    int1 int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64
    float8e5 float8e4nv float8e4b8 float8e5b16 float8e4b15 void pi32_t""")

_MATH = _words("""
    abs ceil cos div_rn erf exp exp2 fdiv floor fma log log2 rsqrt sin sqrt sqrt_rn umulhi""")

_SHARED = _MATH | _words("""
    add sub mul minimum maximum clamp where cast broadcast broadcast_to cat join split reshape
    permute trans ravel view expand_dims squeeze unsqueeze flip gather interleave full full_like
    zeros zeros_like arange load store program_id num_programs cdiv max min sum argmax argmin
    xor_sum reduce_or reduce associative_scan cumsum cumprod sort topk bitonic_merge histogram
    softmax sigmoid map_elementwise to_tensor atomic_add atomic_and atomic_cas atomic_max
    atomic_min atomic_or atomic_xchg atomic_xor assume multiple_of max_contiguous max_constancy
    static_range static_assert static_print device_print device_assert inline_asm_elementwise
    """)

_TL = _SHARED | _words("""
    range dot dot_scaled make_block_ptr advance make_tensor_descriptor load_tensor_descriptor
    store_tensor_descriptor debug_barrier swizzle2d philox philox_impl rand rand4x randint
    randint4x randn randn4x pair_uniform_to_normal uint_to_uniform_float""")

_LIBDEVICE = _words("""
    abs acos acosh add_rd add_rn add_ru add_rz asin asinh atan atan2 atanh brev byte_perm cbrt
    ceil clz copysign cos cosh cospi cyl_bessel_i0 cyl_bessel_i1 div_rd div_rn div_ru div_rz
    double2float_rd double2float_rn double2float_ru double2float_rz double2hiint double2int_rd
    double2int_rn double2int_ru double2int_rz double2ll_rd double2ll_rn double2ll_ru double2ll_rz
    double2loint double2uint_rd double2uint_rn double2uint_ru double2uint_rz double2ull_rd
    double2ull_rn double2ull_ru double2ull_rz double_as_longlong erf erfc erfcinv erfcx erfinv exp
    exp10 exp2 expm1 fast_cosf fast_dividef fast_exp10f fast_expf fast_log10f fast_log2f fast_logf
    fast_powf fast_sinf fast_tanf fast_tanhf fdim ffs finitef float2int_rd float2int_rn
    float2int_ru float2int_rz float2ll_rd float2ll_rn float2ll_ru float2ll_rz float2uint_rd
    float2uint_rn float2uint_ru float2uint_rz float2ull_rd float2ull_rn float2ull_ru float2ull_rz
    float_as_int float_as_uint floor fma fma_rd fma_rn fma_ru fma_rz fmod hadd hiloint2double hypot
    ilogb int2double_rn int2float_rd int2float_rn int2float_ru int2float_rz int_as_float isfinited
    isinf isnan j0 j1 jn ldexp lgamma ll2double_rd ll2double_rn ll2double_ru ll2double_rz
    ll2float_rd ll2float_rn ll2float_ru ll2float_rz llrint llround log log10 log1p log2 logb
    longlong_as_double mul24 mul_rd mul_rn mul_ru mul_rz mulhi nearbyint nextafter norm3d norm4d
    normcdf normcdfinv popc pow rcbrt rcp64h rcp_rd rcp_rn rcp_ru rcp_rz remainder rhadd rhypot
    rint rnorm3d rnorm4d round rsqrt rsqrt_rn sad saturatef scalbn signbit sin sinh sinpi sqrt
    sqrt_rd sqrt_rn sqrt_ru sqrt_rz sub_rd sub_rn sub_ru sub_rz tan tanh tgamma trunc uint2double_rn
    uint2float_rd uint2float_rn uint2float_ru uint2float_rz uint_as_float ull2double_rd
    ull2double_rn ull2double_ru ull2double_rz ull2float_rd ull2float_rn ull2float_ru ull2float_rz
    y0 y1 yn""")

_MBARRIER = Names(
    _words("allocate_mbarrier arrive expect fence_init_release_cluster init invalidate "
           "sync_cluster_init wait"),
    _words("MBarrierLayout"),
)  # fmt: skip
_ASYNC_COPY = Names(
    _words("async_copy_global_to_shared commit_group mbarrier_arrive wait_group")
)
_TMA = Names(
    _words("async_copy_global_to_shared async_copy_shared_to_global async_gather async_scatter "
           "make_tensor_descriptor store_wait"),
    _words("tensor_descriptor"),
)  # fmt: skip

NAMES: dict[str, Names] = {
    "triton": Names(_words("cdiv next_power_of_2"), modules={"language": "tl"}),
    "tl": Names(
        _TL,
        _words("tensor constexpr tuple dtype pointer_type block_type tensor_descriptor"),
        DTYPES | {"TRITON_MAX_TENSOR_NUMEL"},
        {"math": "tl.math", "extra": "tl.extra"},
    ),
    "tl.math": Names(_MATH),
    "tl.extra": Names(modules={"cuda": "tl.extra.cuda", "libdevice": "libdevice", "tlx": "tlx"}),
    "tl.extra.cuda": Names(
        _words("gdc_launch_dependents gdc_wait num_threads num_warps"),
        modules={"libdevice": "libdevice"},
    ),
    "libdevice": Names(_LIBDEVICE),
    "tlx": Names(
        _words("""
            alloc_barriers alloc_warp_barrier allocate_tensor_descriptor async_descriptor_load
            async_descriptor_prefetch_tensor async_descriptor_store async_descriptor_store_wait
            async_dot async_dot_scaled async_dot_wait async_load async_load_commit_group
            async_load_wait_group async_remote_shmem_copy async_remote_shmem_store async_store
            async_task async_task_replica_id async_tasks barrier_arrive barrier_expect_bytes
            barrier_wait cluster_barrier cluster_cta_rank cluster_size_1d dtype_of fence
            fence_async_shared fence_mbarrier_init_cluster local_alloc local_gather local_load
            local_reinterpret local_reshape local_scatter local_slice local_store local_trans
            local_view make_tensor_descriptor named_barrier_arrive named_barrier_wait prefetch
            reinterpret_tensor_descriptor remote_shmem_store remote_view size_of stoch_round
            subslice tcgen05_commit thread_id tmem_copy vote_ballot_sync warp_redux"""),
        values=_words("storage_kind"),
    ),
    "gl": Names(
        (_SHARED - _words("cat trans view clamp flip interleave cumsum cumprod sort topk softmax "
                          "bitonic_merge sigmoid squeeze unsqueeze argmax argmin broadcast_to"))
        | _words("allocate_shared_memory bank_conflicts barrier thread_barrier convert_layout "
                 "dot_fma fp4_to_fp num_ctas num_warps set_auto_layout to_linear_layout "
                 "warp_specialize"),
        _words("tensor constexpr tuple dtype pointer_type block_type shared_memory_descriptor "
               "AutoLayout BlockedLayout CoalescedLayout DistributedLinearLayout DotOperandLayout "
               "NVMMADistributedLayout NVMMASharedLayout PaddedSharedLayout SharedLinearLayout "
               "SliceLayout SwizzledSharedLayout"),
        DTYPES,
        {"nvidia": "gl.nvidia"},
    ),
    "gl.nvidia": Names(modules={"ampere": "gl.ampere", "hopper": "gl.hopper",
                                "blackwell": "gl.blackwell"}),
    "gl.ampere": Names(_words("mma_v2"),
                       modules={"async_copy": "gl.async_copy", "mbarrier": "gl.mbarrier"}),
    "gl.hopper": Names(
        _words("fence_async_shared mma_v2 warpgroup_mma warpgroup_mma_init warpgroup_mma_wait"),
        modules={"async_copy": "gl.async_copy", "mbarrier": "gl.mbarrier", "tma": "gl.tma",
                 "cluster": "gl.cluster"},
    ),
    "gl.blackwell": Names(
        _words("allocate_tensor_memory fence_async_shared get_tmem_reg_layout mma_v2 "
               "tcgen05_commit tcgen05_copy tcgen05_mma tcgen05_mma_barrier_count "
               "tcgen05_mma_scaled"),
        _words("TensorMemoryLayout TensorMemoryScalesLayout tensor_memory_descriptor"),
        modules={"async_copy": "gl.async_copy", "mbarrier": "gl.mbarrier", "tma": "gl.tma"},
    ),
    "gl.mbarrier": _MBARRIER,
    "gl.async_copy": _ASYNC_COPY,
    "gl.tma": _TMA,
    "gl.cluster": Names(_words("arrive wait")),
}  # fmt: skip

_GLUON = "triton.experimental.gluon.language"
MODULES: dict[str, str] = {
    "triton": "triton",
    "triton.language": "tl",
    "triton.language.math": "tl.math",
    "triton.language.extra": "tl.extra",
    "triton.language.extra.libdevice": "libdevice",
    "triton.language.extra.cuda": "tl.extra.cuda",
    "triton.language.extra.cuda.libdevice": "libdevice",
    "triton.language.extra.tlx": "tlx",
    _GLUON: "gl",
    f"{_GLUON}.nvidia": "gl.nvidia",
    f"{_GLUON}.nvidia.ampere": "gl.ampere",
    f"{_GLUON}.nvidia.ampere.mbarrier": "gl.mbarrier",
    f"{_GLUON}.nvidia.ampere.async_copy": "gl.async_copy",
    f"{_GLUON}.nvidia.hopper": "gl.hopper",
    f"{_GLUON}.nvidia.hopper.mbarrier": "gl.mbarrier",
    f"{_GLUON}.nvidia.hopper.tma": "gl.tma",
    f"{_GLUON}.nvidia.hopper.cluster": "gl.cluster",
    f"{_GLUON}.nvidia.blackwell": "gl.blackwell",
    f"{_GLUON}.nvidia.blackwell.tma": "gl.tma",
}  # the full name of a module -> key of NAMES

LAYOUTS = _words("""
    AutoLayout BlockedLayout CoalescedLayout DistributedLinearLayout DotOperandLayout
    NVMMADistributedLayout NVMMASharedLayout PaddedSharedLayout SharedLinearLayout SliceLayout
    SwizzledSharedLayout""")  # Gluon's, which travel as arguments

STATIC_METHODS = {"NVMMASharedLayout": _words("get_default_for"),
                  "PaddedSharedLayout": _words("with_identity_for")}  # fmt: skip

ATTRIBUTES = _words("""
    T shape dtype type value numel rank ndim nbytes itemsize element_ty scalar primitive_bitwidth
    fp_mantissa_width exponent_bias int_bitwidth block_shape block_type strides layout
    abs advance argmax argmin associative_scan atomic_add atomic_and atomic_cas atomic_max
    atomic_min atomic_or atomic_xchg atomic_xor broadcast_to cast cdiv ceil cos cumprod cumsum erf
    exp exp2 expand_dims flip floor gather histogram item log log2 logical_and logical_or max min
    permute ravel reduce reduce_or reshape rsqrt scatter sigmoid sin softmax sort split sqrt
    sqrt_rn store load sum to trans view xor_sum index slice _reinterpret smem smemCluster tmem
    is_bf16 is_block is_bool is_const is_floating is_fp16 is_fp32 is_fp64 is_fp8 is_fp8e4b15
    is_fp8e4b8 is_fp8e4nv is_fp8e5 is_fp8e5b16 is_int is_int1 is_int16 is_int32 is_int64 is_int8
    is_int_signed is_int_unsigned is_ptr is_standard_floating is_uint16 is_uint32 is_uint64
    is_uint8 is_void get_int_max_value get_int_min_value""")

BUILTINS = _words("range min max float int len isinstance print")
BUILTIN_CLASSES = _words("float int")

ANNOTATIONS = {
    "bool": "u1", "int1": "u1", "uint1": "u1", "i1": "u1", "u1": "u1", "int": "i32",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "i8": "i8", "i16": "i16",
    "i32": "i32", "i64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32",
    "uint64": "u64", "u8": "u8", "u16": "u16", "u32": "u32", "u64": "u64", "float": "fp32",
    "float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64", "fp16": "fp16",
    "bf16": "bf16", "fp32": "fp32", "fp64": "fp64",
}  # how an annotation spells the type of a parameter -> how a signature does  # fmt: skip
