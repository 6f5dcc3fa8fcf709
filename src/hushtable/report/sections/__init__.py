"""The sections of the public report, one module each: a function from the bundle to data, and one to charts.

A section is None when the bundle has nothing for it.
"""
