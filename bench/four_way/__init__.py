"""The parts of bench/attention.py."""
