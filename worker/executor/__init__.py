"""The executor's side: has data and runs kernels, boxed, without a line of the candidate's
host code. (Compiled kernels are executed by monkeys-runner, which is C.)"""
