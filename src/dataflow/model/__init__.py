"""What things are: grains, dataids, schedules and mappings as plain values.

Nothing here opens a file or a connection or reads the clock; every fact, including the time, is passed in.
"""
