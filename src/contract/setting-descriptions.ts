import { LIMITS } from '../domain/queue.ts';
import type { SettingName } from '../domain/queue-settings.ts';

const OF_THE_PUBLISH = 'Jobs keep the value with which they were published.';

/**
 * The meaning of each setting of a queue, with its unit. REST and GraphQL show it, and the command line its first
 * sentence. Names in backticks are those of REST.
 */
export const SETTING_DESCRIPTIONS: Readonly<Record<SettingName, string>> = {
  maxAttempts: `Number of attempts after which a job is dead. Holds do not count. ${OF_THE_PUBLISH}`,
  maxDefers: 'Maximum number of holds per job. At the next one, the job dies.',
  concurrency:
    'Maximum number of jobs that are `processing` or `awaiting_ack`. The sum over all queues of an account is at most ' +
    `${LIMITS.accountConcurrency}.`,
  dlqEnabled: 'Whether a dead job leaves a dead letter. A cancelled job never leaves one.',
  mode:
    'Meaning of a 2xx answer of the webhook. `standard`: it completes the job. `ack`: it confirms receipt, and the ' +
    'outcome is reported by ack, nack or defer.',
  rateLimitMax: 'Maximum number of deliveries per rate window, including retries; null if there is no limit.',
  rateLimitWindow: 'Length of the fixed rate window, in seconds.',
  ackTimeout: 'Time for which a job may be `awaiting_ack`, in seconds; for ack mode.',
  ackTimeoutAction: 'Effect of a passed `ackTimeout`. `retry`: the attempt has failed. `dead`: the job is dead.',
  backoffType:
    'Growth of the back-off from retry to retry. `fixed`: always `backoffDelay`. `exponential`: starts with ' +
    `\`backoffDelay\` and doubles with every failure, up to one hour. Up to 10 % is added at random. ${OF_THE_PUBLISH}`,
  backoffDelay: `Back-off before the first retry, in seconds. ${OF_THE_PUBLISH}`,
};
