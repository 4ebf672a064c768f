-- Words by which people and programs group queues. An account has at most a thousand queues, so the index by account is enough.
-- The column is the last, so the claims of a queue, which update its row, log nothing of it.
alter table queue add column tags text[] not null default '{}';
alter table queue add constraint queue_tags_bounds check (cardinality(tags) <= 10);
