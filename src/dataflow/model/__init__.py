"""What things are: grains, dataids, schedules and mappings as plain values.

Nothing here opens a file, a connection or a clock; every fact, the time too, is passed in.
"""
