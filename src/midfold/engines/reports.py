"""Plain logging of what engines do: figures and reasons, never what a conversation says."""

import logging

from midfold.folding import Compression, CompressionPolicy, Tier, tier_of

_LOG = logging.getLogger("midfold.engines")


def log_pressure(tokens: int, policy: CompressionPolicy) -> None:
    """Note a request that takes a large part of the window."""
    tier = tier_of(tokens, policy.context_length)
    if tier is not Tier.CALM:
        level = logging.WARNING if tier >= Tier.COMPRESS else logging.INFO
        _LOG.log(level, "pressure: %d of %d tokens", tokens, policy.context_length)


def log_compression(result: Compression[object]) -> None:
    """Note what a compression did, or that it did nothing."""
    if not result.changed:
        _LOG.info("not compressed at %d tokens: %s", result.tokens_before, result.reason)
        return
    _LOG.info(
        "%s: %d to %d tokens, summary of %d by %s",
        result.reason,
        result.tokens_before,
        result.tokens_after,
        result.summary_tokens,
        result.summarizer or "nobody",
    )
    if result.warning:
        # Its words may quote a provider's error, and with it anything.
        _LOG.warning("the compression has a warning; its result says which")
