import type { Socket } from 'node:net';
import type { NewClaim } from '../../db/delivery/claim-new.ts';

/** Messages between a worker and an API process: JSON objects, one in a line. */

/**
 * From the worker: how many jobs and bytes of payloads it takes, in all since the connection began. `permit` is a
 * number that rises. A claim that names it was made after the worker had sent it.
 */
export interface Grant {
  permit: number;
  jobs: number;
  bytes: number;
}

/** From the worker: it takes no jobs of a queue for some time, or none at all any more. */
export type Refusal = { refuses: string } | { ends: true };

/**
 * From the API: jobs that it has claimed for the worker; that a publish which may have claimed some has failed; or that
 * all it has claimed was handed over.
 */
export type FromApi = { permit: number; claim: NewClaim } | { unsure: true } | { bye: true };

/** Rises when messages change so that builds with another number would not understand them. */
export const PROTOCOL = 1;

/** How a worker is reached. Stored with the heartbeat of its process. */
export interface LinkAddress {
  protocol: number;
  workerId: number;
  leaseMs: number;
  hosts: readonly string[];
  port: number;
  /** Key of the connection, in base64. */
  key: string;
}

/** The only suites with a key that both sides know. */
export const TLS = {
  ciphers: 'PSK-AES128-GCM-SHA256:PSK-AES256-GCM-SHA384',
  minVersion: 'TLSv1.2',
  maxVersion: 'TLSv1.2',
} as const;
export const IDENTITY = 'jobferry';

/** A line that is longer ends the connection. A grant allows at most 4 MiB, and each byte may become six. */
const MAX_LINE = 32 * 1024 * 1024;

export function send(socket: Socket, message: Grant | Refusal | FromApi): void {
  if (!socket.destroyed) socket.write(`${JSON.stringify(message)}\n`);
}

/** Calls `take` with each message. One that cannot be read ends the connection. */
export function onMessages(socket: Socket, take: (message: never) => void): void {
  let rest: string[] = [];
  let length = 0;
  socket.setEncoding('utf8');
  socket.on('data', (text: string) => {
    const lines = text.split('\n');
    rest.push(lines[0] ?? '');
    length += text.length;
    if (lines.length === 1) {
      if (length > MAX_LINE) socket.destroy();
      return;
    }
    const complete = [rest.join(''), ...lines.slice(1, -1)];
    rest = [lines.at(-1) ?? ''];
    length = rest[0]?.length ?? 0;
    try {
      for (const line of complete) take(JSON.parse(line) as never);
    } catch {
      socket.destroy();
    }
  });
}

/** Gives a claim that came as JSON its times back. */
export function revived(claim: NewClaim): NewClaim {
  for (const row of claim.rows) {
    row.claimed_at = new Date(row.claimed_at);
    row.created_at = new Date(row.created_at);
    row.scheduled_for = new Date(row.scheduled_for);
    row.deliver_by = new Date(row.deliver_by);
  }
  return claim;
}
