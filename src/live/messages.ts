import { MAX_MESSAGE_BYTES } from '../db/connection/notifications.ts';

/**
 * The messages of live updates that processes send each other, as text for NOTIFY. Any client that can connect to the
 * database can send on these channels, and so can another version of Jobferry: unknown messages are skipped.
 */

export interface QueueChange {
  accountId: string;
  queueId: string;
  /** The queue's last few jobs that changed. */
  jobIds: readonly string[];
  /** How many other jobs of the queue changed. */
  more: number;
}

export interface Owned {
  accountId: string;
  id: string;
}

/** The changes of one round. */
export interface ChangeSet {
  queues: QueueChange[];
  /** Jobs that subscribers watch by their id. */
  jobs: Owned[];
  actions: Owned[];
  /** Changes were lost, so anything may have changed. */
  missed: boolean;
}

/** The ids that the subscribers of one process watch. */
interface Interest {
  /** Ids of queues, jobs and bulk actions; an account's id stands for all its queues. */
  ids: string[];
  /** The sender has just begun to listen, and may have missed the interests of other processes. */
  hello: boolean;
}

const HELLO = ['hello'];

export function encodeInterest(from: string, ids: readonly string[]): string[] {
  return pack(
    from,
    ids.map((id) => ['id', id]),
  );
}

export function encodeHello(from: string): string {
  return JSON.stringify([from, HELLO]);
}

export function encodeChanges(from: string, changes: ChangeSet): string[] {
  if (changes.missed) return [JSON.stringify([from, ['missed']])];
  return pack(from, [
    ...changes.queues.map(({ accountId, queueId, more, jobIds }) => ['queue', accountId, queueId, more, ...jobIds]),
    ...changes.jobs.map(({ accountId, id }) => ['job', accountId, id]),
    ...changes.actions.map(({ accountId, id }) => ['action', accountId, id]),
  ]);
}

/** Packs the records into as few messages as PostgreSQL's size limit allows. */
function pack(from: string, records: (string | number)[][]): string[] {
  const head = `[${JSON.stringify(from)}`;
  const messages: string[] = [];
  let message = head;
  let bytes = head.length;
  for (const record of records) {
    const text = `,${JSON.stringify(record)}`;
    const size = Buffer.byteLength(text);
    if (bytes + size >= MAX_MESSAGE_BYTES && message !== head) {
      messages.push(`${message}]`);
      message = head;
      bytes = head.length;
    }
    message += text;
    bytes += size;
  }
  if (message !== head) messages.push(`${message}]`);
  return messages;
}

export function decodeInterest(text: string): { from: string; interest: Interest } | null {
  const message = decode(text);
  if (message === null) return null;
  const interest: Interest = { ids: [], hello: false };
  for (const [kind, id] of message.records) {
    if (kind === 'hello') interest.hello = true;
    else if (kind === 'id' && typeof id === 'string') interest.ids.push(id);
  }
  return { from: message.from, interest };
}

export function decodeChanges(text: string): { from: string; changes: ChangeSet } | null {
  const message = decode(text);
  if (message === null) return null;
  const changes: ChangeSet = { queues: [], jobs: [], actions: [], missed: false };
  for (const [kind, accountId, id, more, ...jobIds] of message.records) {
    if (kind === 'missed') changes.missed = true;
    if (typeof accountId !== 'string' || typeof id !== 'string') continue;
    if (kind === 'queue' && typeof more === 'number') {
      changes.queues.push({ accountId, queueId: id, more, jobIds: jobIds.filter((job) => typeof job === 'string') });
    } else if (kind === 'job') {
      changes.jobs.push({ accountId, id });
    } else if (kind === 'action') {
      changes.actions.push({ accountId, id });
    }
  }
  return { from: message.from, changes };
}

function decode(text: string): { from: string; records: unknown[][] } | null {
  try {
    const parsed: unknown = JSON.parse(text);
    if (!Array.isArray(parsed)) return null;
    const [from, ...records] = parsed as unknown[];
    return typeof from === 'string' ? { from, records: records.filter((record) => Array.isArray(record)) } : null;
  } catch {
    return null;
  }
}
