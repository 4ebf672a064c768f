import { MAX_MESSAGE_BYTES } from '../../db/connection/notifications.ts';
import { RESPONSE_BODY_BYTES } from '../exchange.ts';
import type { TunnelAnswer } from './tunnel.ts';

/** Messages between processes: a client's answer may arrive at a process that does not have its tunnel. */
export const CHANNEL = 'jobferry_tunnel';
/** A tunnel was opened or ended: read again which queues have one. */
export const CHANGED = 'changed';

type TunnelMessage =
  | { accountId: string; tunnelId: string; answers: TunnelAnswer[] }
  | { accountId: string; tunnelId: string; answers?: undefined };

/** @returns a message for each answer; one for none, as a heartbeat */
export function encodeAnswers(accountId: string, tunnelId: string, answers: readonly TunnelAnswer[]): string[] {
  if (answers.length === 0) return [JSON.stringify({ accountId, tunnelId, answers: [] })];
  return answers.map((answer) => {
    const body =
      answer.body === null ? null : Buffer.from(answer.body).subarray(0, RESPONSE_BODY_BYTES).toString('base64');
    const message = JSON.stringify({ accountId, tunnelId, answers: [{ ...answer, body }] });
    // Headers of control characters take six bytes for each.
    if (Buffer.byteLength(message) <= MAX_MESSAGE_BYTES) return message;
    return JSON.stringify({ accountId, tunnelId, answers: [{ ...answer, body: null }] });
  });
}

export function encodeEnd(accountId: string, tunnelId: string): string {
  return JSON.stringify({ accountId, tunnelId });
}

/** @returns null for a message of a later release */
export function decodeMessage(message: string): TunnelMessage | 'changed' | null {
  if (message === CHANGED) return 'changed';
  try {
    const { accountId, tunnelId, answers } = JSON.parse(message) as TunnelMessage;
    if (typeof accountId !== 'string' || typeof tunnelId !== 'string') return null;
    if (answers === undefined) return { accountId, tunnelId };
    const read = answers.map((answer) => {
      return { ...answer, body: answer.body === null ? null : Buffer.from(answer.body, 'base64').toString() };
    });
    return { accountId, tunnelId, answers: read };
  } catch {
    return null;
  }
}
