-- A chained digest is found by its first eight bytes, and then compared whole: half the size of the index.
DROP INDEX messages_by_chain;
CREATE INDEX messages_by_link ON messages (tenant, substr(chain, 1, 8)) WHERE chain IS NOT NULL;
