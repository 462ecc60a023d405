-- Sessions, their messages, folds, leases and usage. Nothing in `messages` is ever changed in place.
-- Every row has its tenant, and the database itself refuses a row that belongs to another tenant's session.

CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value ANY NOT NULL
) STRICT;

-- How much each tenant keeps, for quotas.
CREATE TABLE tenants (
    tenant TEXT PRIMARY KEY,
    bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- `conversation` is the id of the first session of a chain: it stays the same through every fold.
-- A session reads as its `ranges`, in order, and then its own messages from `own_from` on.
-- `last_chain` is the chained digest of the whole history as it was said, folded or not;
-- `base_digest` is that of the list the session began with, as a client that sends folded lists spells it.
CREATE TABLE sessions (
    key INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    conversation TEXT NOT NULL,
    parent INTEGER REFERENCES sessions (key) ON DELETE SET NULL,
    kind TEXT NOT NULL CHECK (kind IN ('root', 'continuation', 'branch', 'subagent')),
    source TEXT NOT NULL,
    model TEXT,
    title TEXT,
    dialect TEXT,
    system TEXT,
    started_at REAL NOT NULL,
    ended_at REAL,
    end_reason TEXT,
    undone_at REAL,
    own_from INTEGER NOT NULL DEFAULT 0,
    next_seq INTEGER NOT NULL DEFAULT 0,
    last_chain BLOB NOT NULL DEFAULT x'',
    base_digest BLOB,
    UNIQUE (tenant, id),
    UNIQUE (tenant, key)
) STRICT;

-- Two processes can never fork a chain: a session has one continuation that was not taken back.
CREATE UNIQUE INDEX one_continuation ON sessions (tenant, parent)
    WHERE kind = 'continuation' AND undone_at IS NULL;
CREATE INDEX sessions_by_conversation ON sessions (tenant, conversation);
CREATE INDEX sessions_by_parent ON sessions (parent);
CREATE INDEX sessions_by_base ON sessions (tenant, base_digest) WHERE base_digest IS NOT NULL;

-- `body` is the wire item as JSON, with placeholders for credentials; the digests were taken before that.
-- `origin` is who made the message: somebody said it, or a fold did (a summary, a shortened copy, a stub).
-- `is_exact` is 0 where the body says something else than what was said: placeholders, or signs for characters
-- that no database holds. Only what was said is part of the history and has a place in its `chain`.
-- `seal` is a sum of the row, so that damage is noticed when it is read.
CREATE TABLE messages (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    session INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    origin TEXT NOT NULL CHECK (origin IN ('said', 'summary', 'copy', 'stub')),
    role TEXT NOT NULL,
    tools TEXT NOT NULL,
    dialect TEXT NOT NULL,
    body TEXT NOT NULL,
    seal INTEGER,
    tokens INTEGER,
    finish_reason TEXT,
    is_redacted INTEGER NOT NULL,
    is_exact INTEGER NOT NULL,
    digest BLOB NOT NULL,
    chain BLOB,
    created_at REAL NOT NULL,
    UNIQUE (tenant, session, seq),
    FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, key) ON DELETE CASCADE
) STRICT;

CREATE INDEX messages_by_chain ON messages (tenant, chain) WHERE chain IS NOT NULL;

-- messages[start:stop] of `source`, at this place of the session's view.
CREATE TABLE ranges (
    tenant TEXT NOT NULL,
    session INTEGER NOT NULL,
    position INTEGER NOT NULL,
    source INTEGER NOT NULL,
    start INTEGER NOT NULL,
    stop INTEGER NOT NULL,
    PRIMARY KEY (tenant, session, position),
    FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, key) ON DELETE CASCADE,
    FOREIGN KEY (tenant, source) REFERENCES sessions (tenant, key) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX ranges_by_source ON ranges (tenant, source);

CREATE TABLE folds (
    key INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    session INTEGER NOT NULL,
    child INTEGER NOT NULL,
    prefix_digest BLOB NOT NULL,
    body TEXT NOT NULL,
    facts TEXT NOT NULL,
    created_at REAL NOT NULL,
    announced_at REAL,
    UNIQUE (tenant, child),
    FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, key) ON DELETE CASCADE,
    FOREIGN KEY (tenant, child) REFERENCES sessions (tenant, key) ON DELETE CASCADE
) STRICT;

CREATE INDEX folds_by_session ON folds (tenant, session);
CREATE INDEX folds_by_prefix ON folds (tenant, prefix_digest);

-- A summary that was paid for, until the fold it is for is in place.
CREATE TABLE summaries (
    tenant TEXT NOT NULL,
    span_digest BLOB NOT NULL,
    model TEXT NOT NULL,
    prompt TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at REAL NOT NULL,
    PRIMARY KEY (tenant, span_digest, model, prompt)
) STRICT, WITHOUT ROWID;

-- `epoch` only ever rises, so that whoever lost a lease cannot commit under it.
CREATE TABLE leases (
    tenant TEXT NOT NULL,
    session INTEGER NOT NULL,
    holder TEXT,
    epoch INTEGER NOT NULL,
    renewed_at REAL NOT NULL,
    expires_at REAL NOT NULL,
    PRIMARY KEY (tenant, session),
    FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, key) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- One row for each call of a model, as it was reported. `cost` is dollars as text: money is never a float.
CREATE TABLE calls (
    key INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    session INTEGER NOT NULL,
    id TEXT NOT NULL,
    model TEXT NOT NULL,
    purpose TEXT NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cache_read_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    cache_write_1h_tokens INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL,
    cost TEXT,
    cost_kind TEXT NOT NULL,
    facts TEXT NOT NULL,
    raw TEXT NOT NULL,
    created_at REAL NOT NULL,
    UNIQUE (tenant, id),
    FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, key) ON DELETE CASCADE
) STRICT;

CREATE INDEX calls_by_session ON calls (tenant, session);
CREATE INDEX calls_by_time ON calls (tenant, created_at);

CREATE VIRTUAL TABLE message_words USING fts5 (
    words, content = '', tokenize = 'unicode61 remove_diacritics 2'
);
