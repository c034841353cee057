"""What a piece may contain. Models write pieces, and accepted pieces become tasks, which the judge
runs in its own process. So the check denies by default: every kind of statement, every name and
every attribute must be listed here or defined in the file. Nothing is executed."""

import ast

import torch
from judge.reasons import Finding

LONGEST = 200_000  # characters
MODULES = {"torch", "torch.nn", "torch.nn.functional", "math"}
SUBMODULES = {"nn", "functional", "linalg", "special", "fft"}
LANGUAGES = {"triton", "tilelang", "cutlass", "cute", "numba", "cupy", "pycuda", "tvm", "jax",
             "thunderkittens", "gluon", "quill", "taichi", "warp", "helion", "cuda"}  # fmt: skip
BUILTINS = {
    "range", "len", "int", "float", "bool", "abs", "min", "max", "sum", "enumerate", "zip", "list",
    "tuple", "reversed", "sorted", "super", "round", "any", "all", "pow", "divmod", "slice", "str",
    "None", "True", "False", "Ellipsis", "ValueError", "isinstance", "map",
}  # fmt: skip
REQUIRED = ("Model", "get_inputs", "get_init_inputs")

# Functions of torch, torch.nn.functional, torch.linalg, torch.special, torch.fft and math, methods
# and attributes of tensors and modules, and classes of torch.nn, that compute or describe. None
# of them reads or writes files, runs code it is given, or changes torch itself.
ALLOWED = set("""
    abs absolute acos acosh add addbmm addcdiv addcmul addmm addmv all allclose amax amin aminmax any
    arange arccos arcsin arctan arctan2 argmax argmin argsort as_strided asin asinh atan atan2 atanh
    atleast_1d atleast_2d baddbmm bfloat16 bincount bitwise_and bitwise_not bitwise_or bitwise_xor
    bmm bool broadcast_tensors broadcast_to bucketize cat cdist ceil chunk clamp clamp_max clamp_min
    clip clone column_stack complex concat concatenate contiguous copysign cos cosh count_nonzero
    cross cummax cummin cumprod cumsum deg2rad det detach diag diag_embed diagonal diff dim dist div
    divide dot double dsplit dstack dtype device einsum empty empty_like eq erf erfc erfinv exp exp2
    expand expand_as expm1 eye fill fix flatten flip fliplr flipud float float16 float32 float64 floor
    floor_divide fmod frac full full_like gather ge gelu ger gt half heaviside hsplit hstack hypot
    index_add index_copy index_fill index_select inf inner int int32 int64 int8 inverse is_floating_point
    isfinite isinf isnan kron kthvalue le lerp lgamma linspace log log10 log1p log2 log_softmax
    logaddexp logaddexp2 logcumsumexp logical_and logical_not logical_or logical_xor logit logsumexp
    long lt masked_fill masked_scatter masked_select matmul matrix_power max maximum mean median
    meshgrid min minimum mm mode moveaxis movedim mul multiply mv nan nan_to_num nanmean nansum
    narrow ndim ndimension ne neg negative new_empty new_full new_ones new_tensor new_zeros nextafter
    nonzero norm not_equal numel ones ones_like outer pad permute pow prod quantile rad2deg rand
    rand_like randint randn randn_like randperm ravel reciprocal relu remainder renorm repeat
    repeat_interleave reshape reshape_as roll rot90 round rsqrt scatter scatter_add scatter_reduce
    searchsorted select select_scatter sgn shape sigmoid sign signbit sin sinc sinh size slice_scatter
    softmax sort split sqrt square squeeze stack std std_mean stride sub subtract sum sum_to_size svd
    swapaxes swapdims t take take_along_dim tan tanh tensor tensor_split tensordot tile to topk
    trace transpose trapz tril tril_indices triu triu_indices true_divide trunc type type_as unbind
    unflatten unfold unsqueeze var var_mean vdot view view_as vsplit vstack where xlogy zeros
    zeros_like T mT uint8 requires_grad
    abs_ add_ clamp_ clamp_min_ clamp_max_ copy_ div_ exp_ fill_ masked_fill_ mul_ neg_ pow_ relu_
    sigmoid_ sub_ tanh_ zero_ scatter_ scatter_add_ index_add_ index_copy_ sqrt_ tril_ triu_ addmm_
    lerp_ unsqueeze_ squeeze_ transpose_ round_ floor_ reciprocal_ rsqrt_ softmax_ normal_ uniform_
    adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d
    adaptive_max_pool2d adaptive_max_pool3d affine_grid alpha_dropout avg_pool1d avg_pool2d avg_pool3d
    batch_norm bilinear binary_cross_entropy binary_cross_entropy_with_logits celu conv1d conv2d
    conv3d conv_transpose1d conv_transpose2d conv_transpose3d cosine_embedding_loss
    cosine_similarity cross_entropy dropout elu embedding embedding_bag fold glu grid_sample group_norm
    gumbel_softmax hardshrink hardsigmoid hardswish hardtanh hinge_embedding_loss huber_loss
    instance_norm interpolate kl_div l1_loss layer_norm leaky_relu linear local_response_norm
    logsigmoid max_pool1d max_pool2d max_pool3d mish mse_loss nll_loss normalize one_hot pairwise_distance
    pixel_shuffle pixel_unshuffle poisson_nll_loss prelu relu6 rms_norm rrelu
    scaled_dot_product_attention multi_head_attention_forward selu silu smooth_l1_loss softmin softplus softshrink softsign
    tanhshrink threshold triplet_margin_loss upsample lstm gru rnn_tanh rnn_relu
    cholesky cholesky_solve eigh matrix_norm vector_norm solve solve_triangular triangular_solve qr inv
    pinv fft ifft rfft irfft fft2 ifft2 i0 i1 entr expit digamma polygamma logdet
    acosh comb degrees e erf fabs factorial fsum gamma gcd hypot isclose isqrt ldexp pi prod radians tau
    Module Parameter Linear Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d
    BatchNorm1d BatchNorm2d BatchNorm3d LayerNorm GroupNorm InstanceNorm1d InstanceNorm2d
    InstanceNorm3d RMSNorm LocalResponseNorm ReLU ReLU6 GELU SiLU Mish ELU SELU CELU LeakyReLU PReLU
    RReLU Sigmoid Tanh Softmax LogSoftmax Softmin Softplus Softsign Softshrink Hardtanh Hardswish
    Hardsigmoid Hardshrink Tanhshrink Threshold GLU LogSigmoid Identity Flatten Unflatten Dropout
    Dropout1d Dropout2d Dropout3d AlphaDropout MaxPool1d MaxPool2d MaxPool3d AvgPool1d AvgPool2d
    AvgPool3d AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d
    AdaptiveMaxPool2d AdaptiveMaxPool3d Embedding EmbeddingBag LSTM GRU RNN LSTMCell GRUCell RNNCell
    MultiheadAttention TransformerEncoderLayer Bilinear PixelShuffle PixelUnshuffle Upsample
    UpsamplingNearest2d UpsamplingBilinear2d ZeroPad2d ReflectionPad1d ReflectionPad2d
    ReplicationPad2d ConstantPad1d ConstantPad2d CosineSimilarity PairwiseDistance ChannelShuffle
    Fold Unfold Sequential ModuleList ParameterList MSELoss L1Loss SmoothL1Loss HuberLoss
    CrossEntropyLoss NLLLoss KLDivLoss BCELoss BCEWithLogitsLoss HingeEmbeddingLoss TripletMarginLoss
    CosineEmbeddingLoss register_buffer register_parameter append extend insert index count weight
    bias training Tensor Size real imag values indices promote_types result_type log_sigmoid nn functional linalg special
""".split())  # fmt: skip
# What values of a piece may be. A member of a piece's class must not be called like one of theirs:
# as an attribute it would pass for them, too.
KINDS = (torch.Tensor, torch.nn.Module, torch.nn.ModuleList, torch.nn.Parameter, torch.Size, torch.dtype,
         torch.device, str, list, tuple, dict, int, float, range, slice, type, type(len),
         type(lambda: 0))  # fmt: skip
NODES = (
    ast.Module, ast.Import, ast.ImportFrom, ast.alias, ast.FunctionDef, ast.arguments, ast.arg,
    ast.Return, ast.ClassDef, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For, ast.While, ast.If,
    ast.Assert, ast.Raise, ast.Expr, ast.Pass, ast.Break, ast.Continue, ast.BoolOp, ast.BinOp,
    ast.UnaryOp, ast.IfExp, ast.Compare, ast.Call, ast.keyword, ast.Attribute, ast.Subscript,
    ast.Starred, ast.Name, ast.List, ast.Tuple, ast.Slice, ast.Constant, ast.ListComp,
    ast.GeneratorExp, ast.comprehension, ast.Dict, ast.expr_context, ast.operator, ast.unaryop,
    ast.boolop, ast.cmpop, ast.JoinedStr, ast.FormattedValue,
)  # fmt: skip


def check_piece(source: str) -> ast.Module:
    """The file's tree. Raises Finding."""
    if len(source) > LONGEST:
        raise Finding("bad_schema", f"the source has more than {LONGEST} characters")
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        raise Finding("syntax_error", f"{type(problem).__name__}: {problem}") from None
    _Check(tree).run()
    return tree


class _Check:
    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.modules: dict[str, str] = {}  # a name, and the module that it stands for
        self.bound: set[str] = set()
        self.members: set[str] = set()  # attributes that the file's own classes have

    def run(self) -> None:
        self.top_level()
        for node in ast.walk(self.tree):
            if not isinstance(node, NODES):
                self.refuse("forbidden_syntax", node, f"{type(node).__name__} is not allowed")
        self.collect()
        self.definitions()
        for node in ast.walk(self.tree):
            self.look(node)

    def refuse(self, code: str, node: ast.AST, text: str) -> None:
        line = getattr(node, "lineno", None)
        raise Finding(code, f"line {line}: {text}" if line else text)

    # ---- the file ----

    def top_level(self) -> None:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    self.imported(node, alias.name)
                    if alias.name.count(".") and not alias.asname:
                        self.modules["torch"] = "torch"
                    else:
                        self.modules[alias.asname or alias.name] = alias.name
            elif isinstance(node, ast.ImportFrom):
                self.imported(node, node.module or "", node.level)
                for alias in node.names:
                    self.imported_name(node, f"{node.module}.{alias.name}", alias)
        allowed = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)
        for node in self.tree.body:
            text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if not isinstance(node, allowed) and not text:
                self.refuse("forbidden_syntax", node, "only definitions and constants at the top")

    def imported(self, node: ast.AST, name: str, level: int = 0) -> None:
        if name.partition(".")[0] in LANGUAGES:
            self.refuse("dsl_import", node, f"imports {name}")
        if name not in MODULES or level:
            self.refuse("forbidden_import", node, f"imports {name}")

    def imported_name(self, node: ast.AST, full: str, alias: ast.alias) -> None:
        if full in MODULES:
            self.modules[alias.asname or alias.name] = full
        elif alias.name in ALLOWED and alias.name not in SUBMODULES:
            self.bound.add(alias.asname or alias.name)
        else:
            self.refuse("forbidden_import", node, f"imports {full}")

    def definitions(self) -> None:
        found = [n.name for n in self.tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))]
        for name in REQUIRED:
            if found.count(name) != 1:
                self.refuse("missing_definition", self.tree, f"{found.count(name)} definitions of {name}")

    def collect(self) -> None:
        """Names and attributes that the file defines."""
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                self.bind(node, node.name)
            elif isinstance(node, ast.arg):
                self.bind(node, node.arg)
            elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                self.bind(node, node.id)
            elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
                self.member(node)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and \
                    node.func.attr in ("register_buffer", "register_parameter"):
                first = node.args[0] if node.args else None
                if not (isinstance(first, ast.Constant) and isinstance(first.value, str)):
                    self.refuse("forbidden_syntax", node, "registers under a name that is no literal")
                self.bind_member(node, first.value)
        for node in ast.walk(self.tree):
            for one in node.body if isinstance(node, ast.ClassDef) else []:
                if isinstance(one, ast.FunctionDef) and one.name not in ("__init__", "forward"):
                    self.bind_member(one, one.name)

    def bind(self, node: ast.AST, name: str) -> None:
        if name in self.modules or name in BUILTINS:
            self.refuse("monkeypatch", node, f"{name} is bound to something else")
        if name.startswith("_") and name not in ("_", "__init__"):
            self.refuse("forbidden_name", node, f"{name} begins with an underscore")
        self.bound.add(name)

    def member(self, node: ast.Attribute) -> None:
        if not (isinstance(node.value, ast.Name) and node.value.id == "self"):
            self.refuse("monkeypatch", node, f"assigns to the attribute {node.attr} of something "
                        "that is not self")  # fmt: skip
        self.bind_member(node, node.attr)

    def bind_member(self, node: ast.AST, name: str) -> None:
        if name.startswith("_") or not name.isidentifier():
            self.refuse("forbidden_attribute", node, f"{name} begins with an underscore")
        if name not in ALLOWED and any(hasattr(kind, name) for kind in KINDS):
            self.refuse("forbidden_attribute", node, f"{name} is a name of torch or Python")
        self.members.add(name)

    # ---- every node ----

    def look(self, node: ast.AST) -> None:
        if isinstance(node, ast.Name):
            self.name(node)
        elif isinstance(node, ast.Attribute):
            self.attribute(node)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.decorator_list:
            self.refuse("forbidden_syntax", node, "decorators are not allowed")
        elif isinstance(node, ast.ClassDef):
            if node.keywords or len(node.bases) != 1:
                self.refuse("forbidden_syntax", node, "a class has one base and no keywords")
        elif isinstance(node, ast.keyword) and node.arg and node.arg.startswith("_"):
            self.refuse("forbidden_name", node, f"{node.arg} begins with an underscore")
        elif isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            self.refuse("forbidden_syntax", node, "formats are not allowed")

    def name(self, node: ast.Name) -> None:
        if node.id in self.modules:
            if not getattr(node, "inside", False):
                self.refuse("forbidden_name", node, f"the module {node.id} is used as a value")
        elif node.id not in self.bound and node.id not in BUILTINS:
            self.refuse("forbidden_name", node, f"{node.id} is not defined")

    def attribute(self, node: ast.Attribute) -> None:
        node.value.inside = True  # ast.walk comes to it later
        if node.attr == "__init__":
            call = node.value
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "super":
                return
        if node.attr.startswith("_"):
            self.refuse("forbidden_attribute", node, f"{node.attr} begins with an underscore")
        if self.is_module(node):
            if not getattr(node, "inside", False):
                self.refuse("forbidden_name", node, f"the module {node.attr} is used as a value")
        elif node.attr not in ALLOWED and (node.attr not in self.members or self.is_module(node.value)):
            self.refuse("forbidden_attribute", node, f"{node.attr} is not among what pieces may use")

    def is_module(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self.modules
        return isinstance(node, ast.Attribute) and node.attr in SUBMODULES and self.is_module(node.value)


# ---- the same program ---------------------------------------------------------------


class _Plain(ast.NodeTransformer):
    """Names replaced by the order of their appearance, texts that do nothing left out."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def called(self, name: str) -> str:
        return self.names.setdefault(name, f"n{len(self.names)}")

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self.called(node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(self.called(node.arg))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body = _without_text(node.body)
        self.generic_visit(node)
        node.name, node.returns = self.called(node.name), None
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.body = _without_text(node.body)
        self.generic_visit(node)
        node.name = self.called(node.name)
        return node


def _without_text(body: list[ast.stmt]) -> list[ast.stmt]:
    return [n for n in body if not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))]


def normalised(source: str) -> str:
    """The same for programs that differ in names, comments and layout alone."""
    tree = ast.parse(source)
    tree.body = _without_text(tree.body)
    return ast.dump(_Plain().visit(tree))
