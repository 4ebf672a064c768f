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
      description: 'Id of the job: for ack, nack and defer, and to tell a redelivery.',
    },
    queue: { type: 'string', description: 'Name of the queue.' },
    payload: { type: 'object', additionalProperties: true, description: 'As published, byte for byte.' },
    attempt: {
      type: 'integer',
      minimum: 1,
      description: 'Number of this delivery. A redelivery after a hold repeats it.',
    },
    maxAttempts: {
      type: 'integer',
      minimum: 1,
      description: 'When `attempt` is this number, a failing answer is the end: the job is dead.',
    },
    createdAt: { type: 'string', format: 'date-time', description: 'When the job was published.' },
  },
  required: ['id', 'queue', 'payload', 'attempt', 'maxAttempts', 'createdAt'],
};

const BACKPRESSURE = {
  description:
    'Backpressure: the job is held for `Retry-After`, or 60 seconds without it, and delivered again. No attempt is ' +
    'used. After `maxDefers` holds the job is dead.',
  headers: {
    'Retry-After': { description: 'Seconds, decimals allowed, or an HTTP date.', schema: { type: 'string' } },
  },
};

const FAILED = {
  description:
    'A failed attempt, as is every answer that is not named here, a redirect too, and no answer in time. It is tried ' +
    'again after the backoff, and the job is dead after `maxAttempts`.',
};

function signature(name: string, required: boolean, description: string) {
  const schema = { type: 'string', pattern: '^sha256=[0-9a-f]{64}$' };
  return { name, in: 'header', required, description, schema, example: `sha256=${'0123456789abcdef'.repeat(4)}` };
}

/** The one call that goes out: what a receiver gets, and what its answer means. */
export function deliveryWebhook(signatureHeader: string) {
  return {
    post: {
      operationId: 'webhook.delivery',
      summary: 'A delivery',
      description:
        `Jobferry posts each job to the queue's \`webhookUrl\`. Deliveries happen at least once: the \`id\` tells a ` +
        'redelivery. Redirects are not followed. An answer must come within 15 seconds; in ack mode answer at once, ' +
        'and report the outcome later.\n\n' +
        `Check \`${signatureHeader}\` before you trust the body: compute the HMAC-SHA256 of its raw bytes, as they were ` +
        "received and not parsed and written again, with the queue's `signingSecret` as the key, and compare in constant " +
        'time. Answer 401 when it differs: that counts as a failed attempt.',
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
          'While the `signingSecret` is being replaced: the same, keyed with the one that comes next.',
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
            'Standard mode: the job is `completed`. Ack mode: it is `awaiting_ack` until its outcome is reported.',
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
