"""The recorder's side: the candidate's Python runs here, boxed and without data, and may
change all of it. What it hands over is a trace (docs/TRACE.md), which proves nothing."""
