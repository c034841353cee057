"""Packs without a recorder: the candidate's Python runs beside the data, boxed. Verdicts end
at E2."""
