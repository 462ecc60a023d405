"""A conversation that is kept: folded when it grows, searched, taken back, exported."""

import tempfile
from pathlib import Path

import midfold
from midfold.store import open_store
from midfold.store.transfer import export_session, write_export

with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "sessions.db") as store:
    session = store.create_session(title="Parking meters").id
    for turn in range(120):
        store.append(session, {"role": "user", "content": f"Check meter {turn}. " + "It takes coins. " * 12})
        store.append(session, {"role": "assistant", "content": f"Meter {turn} took {turn * 7 % 50} coins."})
        if turn == 80:
            messages = store.messages(session)
            result = midfold.compress(messages, max_tokens=3_000)
            session = store.continue_session(session, result.messages, result)
            print(f"turn {turn}: {len(messages)} messages became {len(result.messages)}")

    [hit] = store.search('"meter 42 took"').hits
    print(f"found in what was folded: {hit.snippet}")
    session = store.undo_continuation(session)
    print(f"taken back: {len(store.messages(session))} messages")
    write_export(Path(folder) / "meters.json", export_session(store, session).text)
    print(f"exported: {(Path(folder) / 'meters.json').stat().st_size:,} bytes")
