"""Units of time and size, as people write and read them."""

SECONDS_BY_UNIT = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 7 * 86_400}
SIZE_PREFIXES = "KMGT"
