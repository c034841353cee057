"""The judge's side, trusted: references, truths, tolerances, seeds, verdicts. It reads what
every other side says as hostile bytes. No box shows this folder."""
