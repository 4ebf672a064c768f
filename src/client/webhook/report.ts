import { unwrap } from '../errors.ts';
import { createClient } from '../index.ts';
import type { Delivery } from './delivery.ts';
import type { Settings } from './options.ts';

export type Reports = Pick<Delivery<unknown>, 'ack' | 'nack' | 'defer'>;
export type ReportsOf = (jobId: string) => Reports;

export function createReports(api: Settings['api']): ReportsOf {
  if (api === null) {
    const refuse = async () => {
      throw new Error('ack, nack and defer need the options baseUrl and apiKey');
    };
    return () => ({ ack: refuse, nack: refuse, defer: refuse });
  }
  const { jobs } = createClient(api);
  return (id) => ({
    ack: () => unwrap(jobs.ack({ params: { id } })),
    nack: (body = {}) => unwrap(jobs.nack({ params: { id }, body })),
    defer: (body) => unwrap(jobs.defer({ params: { id }, body })),
  });
}

/** Enough for people, and within what the service takes. */
const MAX_REASON_LENGTH = 500;

/** A message may hold anything, but a reason neither NUL nor half a character (D27). */
export function toReason(error: unknown): string {
  return String(error).slice(0, MAX_REASON_LENGTH).replaceAll('\0', '').toWellFormed();
}
