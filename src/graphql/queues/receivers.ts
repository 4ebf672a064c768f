import { JobferryError } from '../../domain/errors.ts';
import { asReceiver } from '../../domain/receiver-host.ts';
import type {
  ReceiverHealth as ReceiverHealthShape,
  Receiver as ReceiverShape,
} from '../../services/insight/receivers.ts';
import { builder } from '../builder.ts';
import { PRICE } from '../prices.ts';
import { LastFailure, PastAttempts, Percentiles } from './statistics.ts';

const ReceiverHealth = builder.objectRef<ReceiverHealthShape>('ReceiverHealth').implement({
  description: 'The attempts of the last hour of all queues of a receiver.',
  fields: (t) => ({
    attempts: t.exposeInt('attempts', { description: 'Number of attempts that ended.' }),
    failed: t.exposeInt('failed', {
      description: 'Number of attempts that failed or that the worker nacked, with failed probes of open breakers.',
    }),
    refused: t.exposeInt('refused', {
      description: 'Number of attempts with an answer other than 2xx and backpressure, or without an answer.',
    }),
    deferred: t.exposeInt('deferred', { description: 'Number of attempts that ended in backpressure.' }),
    answered2xx: t.exposeInt('answered2xx', { description: 'Number of 2xx answers.' }),
    answered3xx: t.exposeInt('answered3xx', { description: 'Number of 3xx answers.' }),
    answered4xx: t.exposeInt('answered4xx', { description: 'Number of 4xx answers, without 401 and 429.' }),
    answered5xx: t.exposeInt('answered5xx', { description: 'Number of 5xx answers, without 503 and 529.' }),
    unauthorized: t.exposeInt('unauthorized', { description: 'Number of 401 answers.' }),
    backpressure: t.exposeInt('backpressure', { description: 'Number of 429, 503 and 529 answers.' }),
    unanswered: t.exposeInt('unanswered', { description: 'Number of attempts without an answer.' }),
    duration: t.field({
      type: Percentiles,
      description: 'Durations of the deliveries.',
      resolve: ({ duration }) => duration,
    }),
    failingQueues: t.exposeInt('failing', {
      description:
        'Number of queues that have the warning `FAILING` or `SIGNATURE_REJECTED` because of the receiver’s answers. If most of at least ten attempts to the receiver failed, queues with fewer attempts count, too, if most of their attempts failed. 0 if ten attempts to the receiver have succeeded since its last failure.',
    }),
    untriedQueues: t.exposeInt('untried', {
      description:
        'Number of queues that failed and have had too few attempts since the receiver recovered; 0 while the receiver fails.',
    }),
    lastFailure: t.field({
      type: LastFailure,
      nullable: true,
      description:
        'The last failure of all queues of the receiver, and the successes of all of them since; null unless one of the queues, or all of them together, failed for the most part.',
      resolve: ({ lastFailure }) => lastFailure,
    }),
    past: t.field({
      type: PastAttempts,
      nullable: true,
      description:
        'The attempts of the failing queues, if the counts of the last hour do not show that these queues fail: too few attempts, or none, have succeeded since. Null otherwise.',
      resolve: ({ past }) => past,
    }),
    acceptedAt: t.expose('acceptedAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'Start of the last five minutes in which the receiver answered 2xx; null if it did not within the last day. Without queues in ack mode, whose answers are counted when the worker reports.',
    }),
    refusedAt: t.expose('refusedAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'Start of the last five minutes in which the receiver gave an answer other than 2xx, or none; null if there was no such attempt within the last day.',
    }),
  }),
});

const Receiver = builder.objectRef<ReceiverShape>('Receiver').implement({
  description: 'A host to which queues of the account deliver.',
  fields: (t) => ({
    host: t.exposeString('host', {
      description:
        'Host of the webhook URLs in lower case, with the port unless it is the default of the scheme, such as `api.partner.com` or `api.partner.com:8443`. The host identifies the receiver. As an argument, it may also have capital letters, a name such as `bücher.example`, or a scheme. Without a scheme, `:443` and `:80` are kept, so leave out a default port.',
    }),
    queueIds: t.idList({
      description: 'Ids of the queues, oldest first. `queues(receivers: [host])` has the queues.',
      resolve: ({ queues }) => queues.map(({ id }) => id),
    }),
    queueCount: t.int({ description: 'Number of queues.', resolve: ({ queues }) => queues.length }),
    pausedQueues: t.int({
      description: 'Number of queues that are paused.',
      resolve: ({ queues }) => queues.filter(({ pausedAt }) => pausedAt !== null).length,
    }),
    heldQueues: t.int({
      description:
        'Number of queues that are held now: until the end of a hold, while a probe is in flight, or by an open breaker.',
      resolve: ({ queues }) => queues.filter(({ isHeld }) => isHeld).length,
    }),
    ackQueues: t.int({
      description: 'Number of queues in ack mode.',
      resolve: ({ queues }) => queues.filter(({ isAckMode }) => isAckMode).length,
    }),
    health: t.field({
      type: ReceiverHealth,
      complexity: PRICE.receiverHealth,
      nullable: true,
      description: 'Answers of the receiver in the last hour; null if its queues have been deleted meanwhile.',
      resolve: (receiver, _args, { loaders }) => loaders.receiverHealth.load(receiver),
    }),
  }),
});

const PAGE = { size: 100, max: 1000 };

builder.queryFields((t) => ({
  receivers: t.field({
    type: [Receiver],
    complexity: ({ first }) => ({
      field: PRICE.receivers,
      multiplier: Math.min(Math.max(first ?? PAGE.size, 1), PAGE.max),
    }),
    description:
      'The receivers of the account: hosts of the webhook URLs of its queues, in alphabetical order. The next page begins after the last host of this one.',
    args: {
      first: t.arg.int({ required: true, defaultValue: PAGE.size, description: 'Number of receivers, 1 to 1000.' }),
      after: t.arg.string({ description: 'Only receivers whose host comes after this one.' }),
      search: t.arg.string({ description: 'Text that the host contains, ignoring case.' }),
    },
    resolve: async (_root, { first, after, search }, { services, account }) => {
      if (first < 1 || first > PAGE.max)
        throw new JobferryError('invalid_request', `first must be from 1 to ${PAGE.max}`);
      const text = search?.trim().toLowerCase() ?? '';
      return (await services.receivers.list(account))
        .filter(({ host }) => (after == null || host > after) && host.includes(text))
        .slice(0, first);
    },
  }),
  receiver: t.field({
    type: Receiver,
    complexity: PRICE.receivers,
    nullable: true,
    description: 'A receiver by its host; null if no queue delivers to it.',
    args: { host: t.arg.string({ required: true, description: 'The host, as in `Receiver.host`.' }) },
    resolve: async (_root, { host }, { services, account }) => {
      const wanted = asReceiver(host);
      return (await services.receivers.list(account)).find((receiver) => receiver.host === wanted) ?? null;
    },
  }),
}));
