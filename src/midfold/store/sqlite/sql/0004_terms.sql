-- The index holds the terms of each message once, without their places: a third of the size. It begins empty;
-- messages are added in pieces when nothing else is to be done, and a search that comes before says so.
DROP TABLE message_words;

CREATE VIRTUAL TABLE message_words USING fts5 (
    words, content = '', detail = 'none', tokenize = 'ascii'
);

-- The empty index is of the third version, so that opening the store does not fill it at once.
INSERT OR REPLACE INTO meta (name, value)
    SELECT 'search_index_version', 3 WHERE EXISTS (SELECT 1 FROM messages);

DELETE FROM meta WHERE name IN ('search_index_purge', 'search_index_holes');
