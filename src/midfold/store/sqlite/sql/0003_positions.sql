-- The order within a conversation: its sessions follow one another, and so do the messages of each.
-- The position of a message is `first_position` of its session plus its `seq`; what folds made counts, too.
ALTER TABLE sessions ADD COLUMN first_position INTEGER NOT NULL DEFAULT 0;
