"""Makes tasks of KernelBook's rows. What reads the rows is trusted; what parses their programs is
a boxed process (worker/importer.py). Nothing here executes a program."""
