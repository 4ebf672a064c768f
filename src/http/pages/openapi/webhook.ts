import { ENVELOPE } from './examples.ts';

/** Spec "Events": the body of a delivery. */
export const envelopeSchema = {
  title: 'Envelope',
  description: 'The body of a delivery.',
  type: 'object',
  properties: {
    id: {
      type: 'string',
      pattern: '^[0-9a-f]{24}$',
      description: 'Id of the job, for ack, nack and defer, and to recognize redeliveries.',
    },
    queue: { type: 'string', description: 'Name of the queue.' },
    payload: { type: 'object', additionalProperties: true, description: 'The payload, byte for byte as published.' },
    attempt: {
      type: 'integer',
      minimum: 1,
      description: 'Number of this delivery, starting at 1. A redelivery after a hold has the same number.',
    },
    maxAttempts: {
      type: 'integer',
      minimum: 1,
      description:
        'Number of attempts after which the job is dead. If `attempt` is this number, a failure ends the job.',
    },
    createdAt: { type: 'string', format: 'date-time', description: 'Time at which the job was published.' },
  },
  required: ['id', 'queue', 'payload', 'attempt', 'maxAttempts', 'createdAt'],
};

const BACKPRESSURE = {
  description:
    'Backpressure. The job is held for `Retry-After`, or for 60 seconds if the header is missing, and then delivered ' +
    'again. No attempt is used. If the job has already been held `maxDefers` times, it is dead.',
  headers: {
    'Retry-After': {
      description: 'Length of the hold in seconds, with decimals, or its end as an HTTP date.',
      schema: { type: 'string' },
    },
  },
};

const FAILED = {
  description:
    'A failed attempt. Every answer that is not listed here, including redirects, and a missing answer are failures too. ' +
    'The job is retried after the back-off, and is dead after `maxAttempts` attempts.',
};

function signature(name: string, required: boolean, description: string) {
  const schema = { type: 'string', pattern: '^sha256=[0-9a-f]{64}$' };
  return { name, in: 'header', required, description, schema, example: `sha256=${'0123456789abcdef'.repeat(4)}` };
}

/** Describes the only request that Jobferry sends: its content, and the meaning of the receiver's answer. */
export function deliveryWebhook(signatureHeader: string) {
  return {
    post: {
      operationId: 'webhook.delivery',
      summary: 'A delivery',
      description:
        `Jobferry posts each job to the queue's \`webhookUrl\`. Delivery is at least once: a redelivery has the same ` +
        '`id`. Redirects are not followed. The receiver must answer within the timeout, by default 15 seconds. In ack ' +
        'mode, answer at once and report the outcome later.\n\n' +
        `Check \`${signatureHeader}\` before you trust the body. Compute the HMAC-SHA256 of the raw bytes as received, ` +
        "not of a parsed and serialized copy, with the queue's `signingSecret` as the key. Compare in constant time. " +
        'Answer 401 if the signatures differ; this counts as a failed attempt.',
      security: [],
      parameters: [
        signature(
          signatureHeader,
          true,
          'HMAC-SHA256 of the raw body in lower-case hex, keyed with the `signingSecret`.',
        ),
        signature(
          `${signatureHeader}-next`,
          false,
          'HMAC-SHA256 of the raw body in lower-case hex, keyed with the next `signingSecret`; present only during a rotation.',
        ),
      ],
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: { $ref: '#/components/schemas/Envelope' },
            examples: { delivery: { summary: 'The first attempt', value: ENVELOPE } },
          },
        },
      },
      responses: {
        '2XX': {
          description:
            'Standard mode: the job is `completed`. Ack mode: the job is `awaiting_ack` until its outcome is reported.',
        },
        429: BACKPRESSURE,
        503: BACKPRESSURE,
        529: BACKPRESSURE,
        '4XX': FAILED,
        default: FAILED,
      },
    },
  };
}
