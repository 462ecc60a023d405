"""Run every benchmark that needs nothing but this repository; those on real data run where it is found."""

from benchmarks import counting, folding, imports, reading, redaction


def main() -> None:
    """Print the table."""
    imports.main()
    reading.main()
    counting.main()
    folding.main()
    redaction.main()


if __name__ == "__main__":
    main()
