-- Where the trace of a job began: `traceparent` and, after a space, `tracestate` (src/domain/trace.ts). Null for most jobs, and then
-- without a byte in the row. Without a default and without a constraint, so that no row is read or written.
alter table job add column trace_context text;
