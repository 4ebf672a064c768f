-- The operator's account was the one with the lowest id. Ids have the time of their creation, so an account that was created after
-- the clock had been set back, or that was removed by hand, handed the role to another account.

-- is_operator  gets BOOTSTRAP_API_KEY and the members, sees the load of all accounts, and cannot be deleted. One account at most.
alter table account add column is_operator boolean not null default false;
update account set is_operator = true where id = (select id from account order by id limit 1);
create unique index account_is_operator_idx on account (is_operator) where is_operator;
