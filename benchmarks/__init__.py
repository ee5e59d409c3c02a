"""Measurements: each number beside a peer or a floor taken in the same run. Needs development packages."""
