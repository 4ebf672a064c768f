-- clock_offset_seconds  how far the clock of the database is ahead of that of the process; null if it does not know
alter table instance add column clock_offset_seconds double precision;
