"""The fold: which messages go, what stands in for them, and how the list reads afterwards. All of it pure.

Nothing here asks a clock, opens a socket or knows a provider. A compression is a generator that asks for a
summary and returns a value; its driver does the asking.
"""
