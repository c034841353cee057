"""Takes a task apart: captures what forward does, cuts it into pieces, and writes each piece as a
task of its own. Runs in a box; the judge decides about what it proposes (judge/decomposing.py)."""
