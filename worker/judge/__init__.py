"""The judge's side, which is trusted: references, truths, tolerances, seeds, verdicts. It treats
everything from the other sides as hostile bytes. No box can see this folder."""
