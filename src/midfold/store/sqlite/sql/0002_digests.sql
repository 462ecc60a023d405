-- What engines remember of a conversation: pins, pauses, counts. It goes with the conversation.
CREATE TABLE states (
    tenant TEXT NOT NULL,
    conversation TEXT NOT NULL,
    name TEXT NOT NULL,
    body TEXT NOT NULL,
    updated_at REAL NOT NULL,
    PRIMARY KEY (tenant, conversation, name)
) STRICT, WITHOUT ROWID;
