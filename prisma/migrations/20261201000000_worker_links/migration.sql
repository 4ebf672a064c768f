-- Where and how API processes reach the worker of the process (docs/decisions/0063).
alter table instance add column link text;
