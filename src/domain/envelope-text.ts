/** The fields of a delivery's body (spec "Events"). */
export interface EnvelopeFields {
  /** Job id. */
  id: string;
  /** Queue name. */
  queue: string;
  /** JSON source text exactly as published (D26). */
  payload: string;
  /** Number of this delivery attempt, from 1; a redelivery after a hold repeats it (D3). */
  attempt: number;
  /** The job's own copy (D3). */
  maxAttempts: number;
  createdAt: Date;
}

/**
 * Returns the body of a delivery, with the fields in the spec's order. The payload's source text is inserted as it is:
 * parsing and serialising it again would change numbers, key order and duplicate keys (D26).
 */
export function envelopeText({ id, queue, payload, attempt, maxAttempts, createdAt }: EnvelopeFields): string {
  return (
    `{"id":${JSON.stringify(id)},"queue":${JSON.stringify(queue)},"payload":${payload},` +
    `"attempt":${attempt},"maxAttempts":${maxAttempts},"createdAt":"${createdAt.toISOString()}"}`
  );
}
