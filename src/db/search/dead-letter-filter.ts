import type { DeadLetterFilter } from '../../domain/job-filter.ts';

/**
 * Returns the conditions of a filter on the dead letter `d` of the surrounding query. Adds their values to `values`,
 * whose length is the number of the last placeholder. `payload` is not among them: it needs candidates
 * (`letter-payloads`).
 */
export function deadLetterConditions(filter: DeadLetterFilter, values: unknown[]): string[] {
  const conditions: string[] = [];
  const add = (value: unknown, condition: (placeholder: string) => string) => {
    if (value === undefined) return;
    values.push(value);
    conditions.push(condition(`$${values.length}`));
  };
  add(filter.ids, (p) => `d.id = any (${p}::text[])`);
  add(filter.queueIds, (p) => `d.queue_id = any (${p}::text[])`);
  // Ids grow with time, so a time range is a range of ids, which the index serves.
  add(filter.dead?.from, (p) => `d.id >= jobferry_first_id(${p}::timestamptz)`);
  add(filter.dead?.to, (p) => `d.id < jobferry_first_id(${p}::timestamptz + interval '1 ms')`);
  add(filter.reasons, (p) => `d.reason = any (${p}::text[])`);
  add(filter.fingerprints, (p) => `d.fingerprint = any (${p}::text[])`);
  if (filter.replayed !== undefined) conditions.push(`d.replayed_at is ${filter.replayed ? 'not null' : 'null'}`);
  add(filter.errorContains, (p) => `position(lower(${p}::text) in lower(d.error)) > 0`);
  add(filter.webhookStatusCodes, (p) => `d.webhook_status_code = any (${p}::integer[])`);
  add(filter.answers, (p) => `coalesce(d.answer, '') = any (${p}::text[])`);
  return conditions;
}
