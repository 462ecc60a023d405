"""The checks of `midfold doctor`, a subject in each file."""

from midfold.cli.checkup.database import check_store
from midfold.cli.checkup.findings import Finding, Severity
from midfold.cli.checkup.home import check_home
from midfold.cli.checkup.outputs import check_outputs
from midfold.cli.checkup.setup import check_setup

__all__ = ["Finding", "Severity", "check_home", "check_outputs", "check_setup", "check_store"]
