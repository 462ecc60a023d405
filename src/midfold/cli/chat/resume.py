"""The model of a session that is resumed: the one that it was held with, unless the person names another."""

from typing import TYPE_CHECKING

import click

from midfold.agent import load_saved_model
from midfold.cli.chat.slash.base import UsageProblem
from midfold.cli.chat.slash.sessions import find_chat
from midfold.config import load_settings, open_own_store

if TYPE_CHECKING:
    from midfold.cli.commands.chat import ChatOptions


def restore_model(session: str, given: "ChatOptions") -> None:
    """Fill in model, address, API and window as they were; an option that is given wins."""
    with open_own_store(load_settings()) as store:
        try:
            saved = load_saved_model(store, find_chat(store, session).id)
        except UsageProblem as problem:
            raise click.UsageError(str(problem)) from None
    if saved is not None:
        given["model"] = saved.name
        given["base_url"] = saved.base_url
        given["api"] = given["api"] or saved.api
        given["context_length"] = given["context_length"] or saved.context_length
