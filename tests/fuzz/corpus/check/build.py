import help

SRC = r"""
extern "C" void run(float *x) { /* not here */ f("text", 'c'); }
"""
lib = help.build(SRC + "int é = 1'000; // end\n" "\x41\ud800")
