"""The lane's side: compiles the kernels of a trace, boxed, without data and without the
candidate's host code."""
