"""The rules of ShareGPT: SG1 to SG3. No provider takes it, but all our readers do."""

from collections.abc import Iterator

from midfold.ports import Fault
from midfold.wire.dialect import describe
from midfold.wire.validate.profiles import Outgoing, Rules


def check(outgoing: Outgoing) -> Iterator[Fault]:
    for index, turn in enumerate(outgoing.messages):
        if not isinstance(turn, dict):
            yield Fault("SG1", index, f"expected an object, found {describe(turn)}")
            continue
        for code, key in (("SG2", "from"), ("SG3", "value")):
            if not isinstance(turn.get(key), str):
                yield Fault(code, index, f"{key} is {describe(turn.get(key))}; expected text")


RULES = Rules(check, not_a_list="SG1")
