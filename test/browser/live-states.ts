import pg from 'pg';
import { afterAll } from 'vitest';
import type { GraphQL } from '../support/graphql.ts';
import { waitFor } from '../support/wait-for.ts';
import { createOperations, type Operate } from './operations.ts';
import type { QueueIds } from './past.ts';

/** Hundreds of jobs come before these, so on a busy machine they take minutes. */
const PATIENT = { timeoutMs: 200_000 };

/** Jobs in the states that only a running service has, and what people have done to it. */
export type LiveJob =
  | 'delayed'
  | 'paused'
  | 'due'
  | 'noSlot'
  | 'rateLimited'
  | 'awaitingAck'
  | 'acked'
  | 'nacked'
  | 'holding'
  | 'queueHeld'
  | 'probe'
  | 'behindProbe'
  | 'cancelled'
  | 'queueDeleted'
  | 'replayed';

interface Seeding {
  graphql: GraphQL;
  queues: QueueIds;
  databaseUrl: string;
}

/** To be done before a worker runs: what must not be delivered. */
export async function stopQueues({ graphql, queues, databaseUrl }: Seeding): Promise<void> {
  await createOperations(graphql).change('pauseQueue', queues['billing-export'] ?? '');
  // A forgotten transaction holds the lock of this queue, so its jobs are due and stay so.
  const holder = new pg.Client({ connectionString: databaseUrl });
  holder.on('error', () => undefined);
  await holder.connect();
  afterAll(() => holder.end().catch(() => undefined));
  await holder.query(`select pg_advisory_lock(hashtextextended('jobferry claim ' || $1, 0))`, [
    queues['nightly-batch'],
  ]);
}

export async function makeLiveStates(
  seeding: Seeding,
): Promise<{ jobs: Record<LiveJob, string>; actions: { running: string; ended: string } }> {
  const operate = createOperations(seeding.graphql);
  const { queues } = seeding;
  const db = new pg.Pool({ connectionString: seeding.databaseUrl, max: 4 });
  try {
    const [waiting, images, holding, probing, gone, actions] = await Promise.all([
      makeWaiting(operate, db, queues),
      reportOnImages(operate, db),
      holdQueue(operate, db),
      probeQueue(operate, db),
      endJobs(operate, db, queues),
      startActions(operate, db, queues),
      failSome(operate),
      changeSettings(operate, queues),
      raiseAlerts(seeding, db),
    ]);
    return { jobs: { ...waiting, ...images, ...holding, ...probing, ...gone }, actions };
  } finally {
    await db.end();
  }
}

async function makeWaiting(operate: Operate, db: pg.Pool, queues: QueueIds) {
  const [delayed = ''] = await operate.publish(
    'order-events',
    ['{"event":"order.reminder","customer":{"id":42}}'],
    7200,
  );
  const [paused = ''] = await operate.publish('billing-export', ['{"op":"export","customer":{"id":42}}']);
  const [due = ''] = await operate.publish('nightly-batch', ['{"event":"night","user":7}']);
  // Two an hour, by the clock: the last one still waits when the next hour begins.
  const fed = await operate.publish(
    'partner-feed',
    [1, 2, 3, 4, 5, 6].map((feed) => `{"feed":${feed}}`),
  );
  const rateLimited = fed.at(-1) ?? '';
  const { rows } = await db.query<{ id: string }>(`select max(id) as id from job where queue_id = $1`, [
    queues['search-index'],
  ]);
  await waitFor(
    async () =>
      (await db.query(`select from job where queue_id = $1 and status = 'completed'`, [queues['partner-feed']]))
        .rowCount,
    PATIENT,
  );
  return { delayed, paused, due, rateLimited, noSlot: rows[0]?.id ?? '' };
}

async function reportOnImages(operate: Operate, db: pg.Pool) {
  const payloads = [1, 2, 3, 4].map((n) => `{"image":"img_${n}.jpg","sizes":[320,640,1280]}`);
  const [awaitingAck = '', acked = '', nacked = ''] = await operate.publish('image-resize', payloads);
  for (const id of [awaitingAck, acked, nacked]) await isIn(db, id, 'awaiting_ack');
  await operate.extend(awaitingAck, '2 of 3 sizes');
  await operate.change('ackJob', acked);
  await operate.nack(nacked, 'unsupported colour profile: CMYK');
  return { awaitingAck, acked, nacked };
}

async function holdQueue(operate: Operate, db: pg.Pool) {
  const [holding = ''] = await operate.publish('llm-summaries', ['{"text":"txt_1","customer":{"id":42}}']);
  await isIn(db, holding, 'awaiting_ack');
  await operate.defer(holding, 4800, 'tokens per minute used up');
  const held = await operate.publish('llm-summaries', texts(30));
  return { holding, queueHeld: held[0] ?? '' };
}

async function probeQueue(operate: Operate, db: pg.Pool) {
  const [holding = ''] = await operate.publish('llm-moderation', ['{"text":"txt_2"}']);
  await isIn(db, holding, 'awaiting_ack');
  await operate.defer(holding, 0.5, 'rate limit of the model');
  const held = await operate.publish('llm-moderation', texts(12));
  // After the hold one job goes first, and nothing else until its worker has reported.
  const probing = `select p.id from job p join queue q on q.probe_job_id = p.id where q.name = 'llm-moderation' and p.status = $1`;
  const { id: probe } = await waitFor(async () => (await db.query<{ id: string }>(probing, ['awaiting_ack'])).rows[0], {
    ...PATIENT,
    message: 'the probe',
  });
  return { probe, behindProbe: held.findLast((id) => id !== probe) ?? '' };
}

async function endJobs(operate: Operate, db: pg.Pool, queues: QueueIds) {
  const [cancelled = ''] = await operate.publish('order-events', ['{"event":"order.reminder"}'], 3600);
  const [queueDeleted = ''] = await operate.publish('legacy-import', ['{"row":1}', '{"row":2}'], 3600);
  await operate.change('cancelJob', cancelled);
  await operate.change('deleteQueue', queues['legacy-import'] ?? '');
  await isIn(db, queueDeleted, 'dead');
  const { rows } = await db.query<{ id: string; job_id: string }>(
    `select id, job_id from dead_letter where queue_id = $1 order by id limit 1`,
    [queues['crm-sync']],
  );
  await operate.change('replayDeadLetter', rows[0]?.id ?? '');
  return { cancelled, queueDeleted, replayed: rows[0]?.job_id ?? '' };
}

async function startActions(operate: Operate, db: pg.Pool, queues: QueueIds) {
  const queueId = queues['push-notify'] ?? '';
  await operate.publish('push-notify', texts(88), 7200);
  const ended = await operate.cancelAll({ queueIds: [queueId], states: ['SCHEDULED'] });
  const stopped = await operate.replayAll(queues['image-resize'] ?? '', 1);
  const running = await operate.replayAll(queues['order-events'] ?? '', 1);
  await actionIs(db, stopped, 'processed > 0');
  await operate.stop(stopped);
  await actionIs(db, ended, `status = 'completed'`);
  return { running, ended };
}

/** @param condition in SQL */
async function actionIs(db: pg.Pool, id: string, condition: string): Promise<void> {
  let row: unknown;
  const isMet = async () => {
    const { rows } = await db.query(`select ${condition} as is_met, a.*, now() from bulk_action a where id = $1`, [id]);
    row = rows[0];
    return rows[0]?.is_met;
  };
  await waitFor(isMet, { ...PATIENT, message: `the action to have ${condition}` }).catch((error: Error) => {
    throw new Error(`${error.message}; it is ${JSON.stringify(row)}`);
  });
}

/** Receivers that reject, fail, or ask to wait: see `answerOf`. */
async function failSome(operate: Operate): Promise<void> {
  await operate.publish('crm-sync', ['{"op":"upsert","contact":"con_1","customer":{"id":42}}', '{"op":"delete"}']);
  await operate.publish('emails', ['{"template":"welcome","to":"ann@example.com"}', '{"template":"reset"}']);
  await operate.publish('sms-gateway', ['{"to":"+4915550001"}', '{"to":"+4915550002"}']);
}

async function changeSettings(operate: Operate, queues: QueueIds): Promise<void> {
  await operate.rotateSecret(queues['crm-sync'] ?? '');
  await operate.updateQueue(queues['push-notify'] ?? '', { concurrency: 10, maxAttempts: 4 });
  await operate.createKey('continuous integration');
  await operate.revokeKey(await operate.createKey('old laptop'));
}

function texts(count: number): string[] {
  return Array.from({ length: count }, (_, n) => `{"text":"txt_${n + 10}","customer":{"id":${1 + (n % 9)}}}`);
}

async function isIn(db: pg.Pool, id: string, status: string): Promise<void> {
  await waitFor(async () => (await db.query('select from job where id = $1 and status = $2', [id, status])).rowCount, {
    ...PATIENT,
    message: `job ${id} to be ${status}`,
  });
}

/** Two rules: the alert of one fires, that of the other is over. */
async function raiseAlerts({ graphql, queues }: Seeding, db: pg.Pool): Promise<void> {
  const make = async (input: object): Promise<string> => {
    const { createAlertRule } = await graphql.query(
      `mutation R($input: CreateAlertRuleInput!) {
         createAlertRule(input: $input) { ... on CreateAlertRulePayload { rule { id } } ... on Error { message } } }`,
      { input },
    );
    return createAlertRule.rule.id;
  };
  const { queue } = await graphql.query('{ queue(name: "order-events") { webhookUrl } }');
  const webhookUrl = new URL('/alerts', queue.webhookUrl).href;
  const ofJobs = await make({ kind: 'OLDEST_DUE', queueId: queues['search-index'], threshold: 120, webhookUrl });
  const ofWorkers = await make({ kind: 'NO_WORKER', format: 'SLACK', webhookUrl });
  // Written as they would be in some minutes. The condition of the first one holds, so it goes on firing.
  await db.query(
    `insert into alert (account_id, rule_id, queue_id, queue_name, state, since, fired_at, resolved_at, value, cause, resolution)
     select r.account_id, r.id, r.queue_id, v.queue_name, v.state, now() - v.since::interval, now() - v.fired::interval,
            now() - v.resolved::interval, v.value, v.cause, v.resolution
       from (values ($1, 'search-index', 'firing', '8 min', '7 min', null, 540,
                     'The oldest due job of search-index has waited for 9 min; the limit is 2 min.', null),
                    ($2, null, 'resolved', '2 h', '119 min', '95 min', 1,
                     'No worker has been seen for at least 30 s, so nothing is delivered. Start one, or look at its log.', 'condition_over')
            ) v(rule_id, queue_name, state, since, fired, resolved, value, cause, resolution)
       join alert_rule r on r.id = v.rule_id
     on conflict (rule_id, coalesce(queue_id, '')) where state <> 'resolved'
       do update set state = excluded.state, fired_at = excluded.fired_at`,
    [ofJobs, ofWorkers],
  );
}
