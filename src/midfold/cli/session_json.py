"""What commands about sessions print for scripts."""

import json

import click

from midfold.store import pack_value

_NO_KEY = b""


def print_json(value: object) -> None:
    """Print a value without credentials, which a store that keeps them could bring here."""
    click.echo(json.dumps(json.loads(pack_value(value, _NO_KEY)), indent=2))
