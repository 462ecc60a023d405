-- What reports worked out about conversations. A row counts as long as `mark` says what the conversation is like.
CREATE TABLE figures (
    tenant TEXT NOT NULL,
    conversation TEXT NOT NULL,
    mark TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, conversation)
) STRICT, WITHOUT ROWID;
