"""Run the benchmarks that need nothing but this repository and take no minutes.

Those on real data run where it is found; `store`, `search`, `insights`, `agent`, `turns` and `trajectories`
are run by name.
"""

from benchmarks import counting, folding, imports, offload, reading, redaction


def main() -> None:
    """Print the table."""
    imports.main()
    reading.main()
    counting.main()
    folding.main()
    redaction.main()
    offload.main()


if __name__ == "__main__":
    main()
