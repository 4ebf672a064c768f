-- When `backup --final` has moved the database to another place: no process serves from it any more. Null until then.
alter table schema_release add column moved_at timestamptz(3);
