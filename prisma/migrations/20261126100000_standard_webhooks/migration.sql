-- Whether deliveries of the queue also have the headers of Standard Webhooks (docs/decisions/0050). The claim does not read
-- it: each worker process polls the ids of such queues.
alter table queue add standard_webhooks boolean not null default false;
-- Read every two seconds by each worker process; empty on most servers. No claim changes its columns, so claims still update
-- the row in place.
create index queue_standard_webhooks_idx on queue (id) where standard_webhooks and deleted_at is null;
