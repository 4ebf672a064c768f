import type { TunnelAnswer, TunnelDelivery as TunnelDeliveryShape } from '../../delivery/tunnel/tunnel.ts';
import { JobferryError } from '../../domain/errors.ts';
import { builder } from '../builder.ts';
import type { GraphQLContext } from '../context.ts';
import { idOf } from '../input.ts';
import { watchOf } from './watched.ts';

/** Deliveries of an event. A tunnel has as many in flight as the concurrency of its queue. */
const PER_EVENT = 100;
const COPY_EVERY_MS = 200;
/** Answers of one call. */
const MAX_ANSWERS = 500;
/** Characters of the texts of an answer. */
const MAX_TEXT = 100;
const MAX_BODY = 16_384;

interface TunnelEventShape {
  tunnelId: string | null;
  deliveries: TunnelDeliveryShape[];
  more: number;
}

const TunnelDelivery = builder.objectRef<TunnelDeliveryShape>('TunnelDelivery').implement({
  description: 'A delivery for the client of a tunnel: the request that the webhook would get.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Id of the delivery in its tunnel, for the answer.' }),
    jobId: t.exposeID('jobId', { description: 'Id of the job.' }),
    attempt: t.exposeInt('attempt', { description: 'Number of the attempt, from 1.' }),
    headers: t.exposeStringList('headers', {
      description: 'Names and values of the headers, alternating; they include the signature with the queue’s secret.',
    }),
    body: t.exposeString('body', { description: 'The body. The signature is that of its UTF-8 bytes.' }),
    timeoutMs: t.exposeInt('timeoutMs', {
      description: 'Time in milliseconds in which the receiver must answer. After it, answer with the error `timeout`.',
    }),
  }),
});

const TunnelEvent = builder.objectRef<TunnelEventShape>('TunnelEvent').implement({
  description: 'Deliveries of a tunnel. The first event has none: it confirms that the tunnel is open.',
  fields: (t) => ({
    tunnelId: t.exposeID('tunnelId', {
      nullable: true,
      description: 'Id of the tunnel, for answers; null for copies, which have none.',
    }),
    more: t.exposeInt('more', {
      description:
        'Number of further changed jobs whose deliveries were not copied because there were too many; 0 in a tunnel.',
    }),
    deliveries: t.field({
      type: [TunnelDelivery],
      complexity: { field: 1, multiplier: PER_EVENT },
      description: 'The deliveries.',
      resolve: ({ deliveries }) => deliveries,
    }),
  }),
});

builder.subscriptionField('tunnel', (t) =>
  t.field({
    type: TunnelEvent,
    description:
      'Opens a tunnel, as `jobferry listen` does: while it is open, deliveries of the queue are sent to this subscription, and not to the webhook. Several tunnels of a queue share the deliveries. Other processes use the tunnel within two seconds. A delivery is not counted as an attempt if the tunnel is lost before it is answered. The client must call `answerTunnel` every five seconds, with answers or without; the tunnel ends ten seconds after the last call.',
    args: {
      queueId: t.arg.id({ required: true, description: 'Id of the queue.' }),
      force: t.arg.boolean({
        required: true,
        defaultValue: false,
        description: 'Whether to take the deliveries of a queue that is marked as production.',
      }),
    },
    subscribe: async (_root, { queueId, force }, context) => {
      if (!context.access.mayViewPayloads) throw new JobferryError('forbidden', 'this needs the right to see payloads');
      const leave = context.live.admit(context.account.id);
      const tunnel = await context.services.queues
        .openTunnel(context.account, idOf(queueId, 'queue'), force)
        .catch((error: unknown) => {
          leave();
          throw error;
        });
      const end = () => {
        context.services.queues.loseTunnel(tunnel);
        leave();
      };
      // A client that leaves before the first event ends no generator: one that has not begun runs no `finally`.
      context.signal.addEventListener('abort', end);
      if (context.signal.aborted) end();
      return context.streams.follow(context, (signal) => deliveriesOf(context, tunnel, signal, end), { rests: false });
    },
    resolve: (event) => event,
  }),
);

builder.subscriptionField('deliveryCopies', (t) =>
  t.field({
    type: TunnelEvent,
    description:
      'Copies of the deliveries of a queue that begin from now on, as `jobferry listen --tap` shows them. The deliveries go to the webhook as always, and copies are not answered. A delivery appears within half a second. If a queue has more than some dozens of deliveries a second, some are not copied. If a job that was attempted before changes, its last attempt may be copied.',
    args: { queueId: t.arg.id({ required: true, description: 'Id of the queue.' }) },
    subscribe: async (_root, { queueId }, context) => {
      if (!context.access.mayViewPayloads) throw new JobferryError('forbidden', 'this needs the right to see payloads');
      const copies = await context.services.queues.copiesOf(context.account, idOf(queueId, 'queue'));
      return context.streams.follow(context, (signal) => copiesFrom(context, queueId, copies, signal));
    },
    resolve: (event) => event,
  }),
);

type Copies = Awaited<ReturnType<GraphQLContext['services']['queues']['copiesOf']>>;

async function* copiesFrom(context: GraphQLContext, queueId: string, copies: Copies, signal: AbortSignal) {
  const rounds = context.live.watch(watchOf(context, { queueIds: [queueId] }), COPY_EVERY_MS, signal);
  try {
    yield { tunnelId: null, more: 0, deliveries: [] };
    for await (const { jobIds, moreJobs } of rounds) {
      const ids = [...jobIds];
      for (let n = 0; n < ids.length; n += PER_EVENT) {
        const deliveries = await copies.of(ids.slice(n, n + PER_EVENT));
        if (deliveries.length > 0) yield { tunnelId: null, more: 0, deliveries };
      }
      if (moreJobs > 0) yield { tunnelId: null, more: moreJobs, deliveries: [] };
    }
  } finally {
    await rounds.return();
  }
}

type OpenTunnel = Awaited<ReturnType<GraphQLContext['services']['queues']['openTunnel']>>;

async function* deliveriesOf(context: GraphQLContext, tunnel: OpenTunnel, signal: AbortSignal, end: () => void) {
  signal.addEventListener('abort', end);
  if (signal.aborted) end();
  try {
    const event = { tunnelId: tunnel.id, more: 0 };
    yield { ...event, deliveries: [] };
    const batches = tunnel.deliveries(() => context.streams.confirmed(context));
    for await (const deliveries of batches) yield { ...event, deliveries };
  } finally {
    signal.removeEventListener('abort', end);
    end();
  }
}

const TunnelAnswerInput = builder.inputType('TunnelAnswerInput', {
  description: 'The answer of a receiver behind a tunnel.',
  fields: (t) => ({
    deliveryId: t.id({ required: true, description: 'Id of the delivery.' }),
    statusCode: t.int({ description: 'Status of the answer, 200 to 999; null if there was none.' }),
    retryAfter: t.string({ description: 'Value of the answer’s header `retry-after`.' }),
    outcome: t.string({ description: 'Value of the answer’s header `x-jobferry-outcome`.' }),
    body: t.string({ description: 'Beginning of the answer’s body; 4 KiB are kept.' }),
    error: t.string({
      description:
        'Why there was no answer, as in the history of a job, such as `connection_refused` or `timeout`; `network_error` for other texts. `no_descriptors` and `no_local_port` use no attempt.',
    }),
  }),
});

const TunnelPayload = builder.objectRef<{ tunnelId: string }>('TunnelPayload').implement({
  description: 'The tunnel of the call.',
  fields: (t) => ({
    tunnelId: t.exposeID('tunnelId', {
      description: 'Id of the tunnel. It is not checked whether the tunnel is still open.',
    }),
  }),
});

builder.mutationFields((t) => ({
  answerTunnel: t.field({
    type: TunnelPayload,
    description:
      'Answers deliveries of a tunnel. Only the key or person that opened the tunnel may answer. An answer to a delivery that is not awaited any more changes nothing. Without answers it is a heartbeat.',
    args: {
      tunnelId: t.arg.id({ required: true, description: 'Id of the tunnel.' }),
      answers: t.arg({
        type: [TunnelAnswerInput],
        required: true,
        description: `The answers, at most ${MAX_ANSWERS}.`,
      }),
    },
    resolve: async (_root, { tunnelId, answers }, { services, account }) => {
      const read = answersOf(answers);
      if (isTunnelId(tunnelId)) await services.queues.answerTunnel(account, tunnelId, read);
      return { tunnelId };
    },
  }),
  endTunnel: t.field({
    type: TunnelPayload,
    description:
      'Ends a tunnel at once: the deliveries of its queue go to the webhook again, unless it has other tunnels. If an actor ends the tunnel of another actor, the audit log names the actor that ended it.',
    args: { tunnelId: t.arg.id({ required: true, description: 'Id of the tunnel.' }) },
    resolve: async (_root, { tunnelId }, { services, account }) => {
      if (isTunnelId(tunnelId)) await services.queues.endTunnel(account, tunnelId);
      return { tunnelId };
    },
  }),
}));

interface AnswerInput extends Partial<Omit<{ [Name in keyof TunnelAnswer]: TunnelAnswer[Name] | undefined }, 'id'>> {
  deliveryId: string;
}

function answersOf(answers: readonly AnswerInput[]): TunnelAnswer[] {
  if (answers.length > MAX_ANSWERS) throw invalid(`answers must have at most ${MAX_ANSWERS} items`);
  return answers.map(({ deliveryId: id, statusCode = null, retryAfter, outcome, body, error }) => {
    if (statusCode !== null && !(statusCode >= 200 && statusCode <= 999))
      throw invalid('statusCode must be from 200 to 999');
    const texts = { retryAfter: retryAfter ?? null, outcome: outcome ?? null, error: error ?? null };
    if (!/^\d{1,15}$/.test(id)) throw invalid('deliveryId must be the id of a delivery');
    for (const [name, text] of Object.entries(texts)) {
      if ((text?.length ?? 0) > MAX_TEXT) throw invalid(`${name} must have at most ${MAX_TEXT} characters`);
    }
    if ((body?.length ?? 0) > MAX_BODY) throw invalid(`body must have at most ${MAX_BODY} characters`);
    return { id, statusCode, body: body ?? null, ...texts };
  });
}

/** No tunnel has an id in another form. */
function isTunnelId(text: string): boolean {
  return /^[0-9a-f-]{36}$/.test(text);
}

function invalid(message: string): JobferryError {
  return new JobferryError('invalid_request', message);
}
