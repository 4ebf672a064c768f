import {
  CLOCK_EVENT_REASONS,
  type ClockEvent,
  type ClockState,
  MAX_TRAVEL_MS,
  type Travelled,
} from '../../domain/clock-event.ts';
import { JobferryError } from '../../domain/errors.ts';
import type { ClockTravel } from '../../services/server/clock-travel.ts';
import { builder } from '../builder.ts';
import { enumOf } from '../enums.ts';
import { ConflictError, InvalidRequestError } from '../errors.ts';
import { refusing } from '../input.ts';
import { PRICE } from '../prices.ts';

const ClockEventReason = enumOf(
  'ClockEventReason',
  'Reason of a timed event of a job. `DELAYED`, `BACKOFF`, `HELD`, `QUEUE_HELD`, `RATE_LIMIT`: this wait ends, and the job can be delivered; see `Waiting.reason`. `ACK_DEADLINE`: the ack deadline of the job passes. `LIFETIME`: the job becomes dead.',
  CLOCK_EVENT_REASONS,
);

const ClockEventType = builder.objectRef<ClockEvent>('ClockEvent').implement({
  description: 'A timed event of a job, such as the end of its back-off.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'Time of the event.' }),
    reason: t.field({ type: ClockEventReason, description: 'Why it happens.', resolve: ({ reason }) => reason }),
    message: t.exposeString('message', { description: 'The reason as a sentence. Its wording may change.' }),
    queue: t.exposeString('queue', { description: 'Name of the queue.' }),
    jobId: t.exposeID('jobId', { description: 'Id of the job.' }),
  }),
});

const ClockType = builder.objectRef<ClockState>('Clock').implement({
  description: 'The clock of a server for development or tests, which decides when jobs are due.',
  fields: (t) => ({
    now: t.expose('now', { type: 'DateTime', description: 'Its time.' }),
    aheadSeconds: t.float({
      description: 'Lead over the machine’s clock, in seconds.',
      resolve: ({ aheadMs }) => aheadMs / 1000,
    }),
    next: t.field({
      type: [ClockEventType],
      description: 'The next events of the account’s jobs, earliest first: of up to twenty jobs of each queue.',
      resolve: ({ next }) => next,
    }),
  }),
});

const TravelPayload = builder.objectRef<Travelled>('TravelPayload').implement({
  description: 'The time that has passed.',
  fields: (t) => ({
    clock: t.field({ type: ClockType, description: 'The clock afterwards.', resolve: ({ clock }) => clock }),
    passed: t.field({
      type: [ClockEventType],
      description: 'The events that passed, in order: of up to twenty jobs of each queue at a time.',
      resolve: ({ passed }) => passed,
    }),
    isSettled: t.exposeBoolean('isSettled', {
      description:
        'Whether all that was due has happened. False after 20 s if deliveries are still in flight, or jobs cannot be claimed; the clock stays where it is then.',
    }),
  }),
});

const ResetClockPayload = builder.objectRef<{ clock: ClockState }>('ResetClockPayload').implement({
  description: 'The clock that was put back.',
  fields: (t) => ({
    clock: t.field({ type: ClockType, description: 'The clock afterwards.', resolve: ({ clock }) => clock }),
  }),
});

const Travel = builder.inputType('TravelInput', {
  description: 'How far the clock is moved. Without a field: to the next event.',
  fields: (t) => ({
    bySeconds: t.float({ description: `By this number of seconds, at most ${MAX_TRAVEL_MS / 1000}.` }),
    until: t.field({ type: 'DateTime', description: 'Until this time.' }),
    drain: t.boolean({
      description:
        'Until no job waits for a later time, or the next event is the end of a lifetime. Jobs of paused queues stay. Receivers have half a second to report before an ack deadline passes.',
    }),
  }),
});

const ONLY_FOR_DEVELOPMENT =
  'time can be moved on servers for development and tests only: start one by `jobferry dev`, or by startJobferry() of @jobferry/client/testing';

function movable(clock: ClockTravel | null): ClockTravel {
  if (clock === null) throw new JobferryError('conflict', ONLY_FOR_DEVELOPMENT);
  return clock;
}

builder.queryFields((t) => ({
  clock: t.field({
    type: ClockType,
    nullable: true,
    complexity: PRICE.search,
    description: 'The clock of a server for development or tests; null on any other server.',
    resolve: (_root, _args, { services, account }) => services.clockTravel?.read(account) ?? null,
  }),
}));

builder.mutationFields((t) => ({
  travelInTime: t.field({
    type: TravelPayload,
    description:
      'Moves the clock of a server for development or tests forward, from event to event. Delays, back-offs, holds, rate windows, ack deadlines and lifetimes end in their order, and after each event the jobs that are due are delivered. Removal after retention follows within 2 s.',
    errors: { types: [ConflictError, InvalidRequestError] },
    args: { input: t.arg({ type: Travel, required: true, description: 'How far the clock is moved.' }) },
    resolve: (_root, { input: { bySeconds, until, drain } }, { services, account }) =>
      refusing(async () => {
        const given = [bySeconds, until, drain === true ? drain : null].filter((one) => one != null);
        if (given.length > 1) throw new JobferryError('invalid_request', 'give one of bySeconds, until and drain');
        return movable(services.clockTravel).travel(account, {
          byMs: bySeconds == null ? undefined : Math.round(bySeconds * 1000),
          to: until ?? undefined,
          drains: drain === true,
        });
      }),
  }),
  resetClock: t.field({
    type: ResetClockPayload,
    description: 'Puts the clock of a server for development or tests back to that of its machine.',
    errors: { types: [ConflictError] },
    resolve: (_root, _args, { services, account }) =>
      refusing(async () => ({ clock: await movable(services.clockTravel).reset(account) })),
  }),
}));
