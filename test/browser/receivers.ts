import type { ReceivedRequest, Reply } from '../support/receiver.ts';

/** The answer of each queue's receiver: the last part of the webhook's path is the queue's name. */
const ANSWERS: Readonly<Record<string, Reply>> = {
  'crm-sync': { status: 401, body: '{"error":"invalid signature"}', delayMs: 15 },
  'search-index': { delayMs: 3000, body: '{"indexed":true}' },
  'report-builder': { delayMs: 2000 },
  'llm-summaries': { status: 202 },
  'llm-moderation': { status: 202 },
  'image-resize': { status: 202 },
  emails: { status: 500, body: '{"error":"smtp: 421 too many connections from 10.0.3.17"}', delayMs: 30 },
  // Slow, and in time on a busy machine, too.
  'video-transcode': { delayMs: 9000 },
  'sms-gateway': { status: 429, headers: { 'retry-after': 1800 }, body: '{"error":{"type":"rate_limit_error"}}' },
};

export function answerOf({ path }: ReceivedRequest): Reply {
  return ANSWERS[path.split('/').at(-1) ?? ''] ?? { body: '{"ok":true}', delayMs: 20 };
}
