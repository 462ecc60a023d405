"""SDK clients that compress by themselves: `client = midfold.wrap(OpenAI())`, and all else stays as it is.

A caller of an SDK sends its whole history again with each request. A wrapped client recognises the history,
applies the folds that were made for it, folds again where that is due, and learns from what is reported.
"""

from midfold.wrapping.client import WrapOptions, client_report, wrap
from midfold.wrapping.exchange import ClientReport

__all__ = ["ClientReport", "WrapOptions", "client_report", "wrap"]
