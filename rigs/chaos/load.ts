import type { Client } from './client.ts';
import { chanceOf, type Random } from './random.ts';
import type { Readings } from './readings.ts';
import type { Behaviour } from './receiver.ts';
import type { PublishRecord, QueueRecord, ReplayRecord, ReportRecord } from './records.ts';

/** The clients' calls during the run: publish, also several with one key at once, report, and replay dead letters. */
export interface Load {
  publishes: PublishRecord[];
  reports: ReportRecord[];
  replays: ReplayRecord[];
  /** The receiver's treatment of a delivery, by its queue. */
  mind(envelope: { id: string; queue: string; attempt: number }, before: number): Behaviour;
  publish(queue: QueueRecord, options?: { key?: string; delayMs?: number; baseUrl?: string }): Promise<PublishRecord>;
  /** So many publishes on one connection that breaks before their answers are read: each may or may not be done. */
  pipeline(queue: QueueRecord, options: { baseUrl: string; requests: number; breakAfterMs: number }): Promise<void>;
  /** Lists dead letters; then several clients replay them at the same time, all at one API if it is given. */
  prepareReplays(baseUrl?: string): Promise<() => Promise<void>>;
  /** Begins to publish so often in a second, while less than `most` calls are open. */
  start(perSecond: number, most?: number): void;
  /** Publishes no more, but still reports on deliveries; resolves when no call is open. */
  stop(): Promise<void>;
}

export interface LoadOptions {
  client: Client;
  random: Random;
  readings: Readings;
  queues: QueueRecord[];
  webhookTimeoutMs: number;
}

const MAX_UNDER_WAY = 150;
/** Clients that publish with one key at the same time. */
const RACERS = 3;

export function createLoad(options: LoadOptions): Load {
  const { client, random, readings, queues, webhookTimeoutMs } = options;
  const publishes: PublishRecord[] = [];
  const reports: ReportRecord[] = [];
  const replays: ReplayRecord[] = [];
  const underWay = new Set<Promise<unknown>>();
  const beats: NodeJS.Timeout[] = [];
  let numbers = 0;

  function track<T>(work: Promise<T>): Promise<T> {
    underWay.add(work);
    return work.finally(() => underWay.delete(work));
  }

  const publish: Load['publish'] = (queue, { key, delayMs = 0, baseUrl } = {}) => {
    numbers += 1;
    return send(queue, { payload: payloadOf(numbers, random), key: key ?? null, delayMs, baseUrl });
  };

  interface Sending {
    payload: string;
    key: string | null;
    delayMs: number;
    baseUrl: string | undefined;
  }

  async function send(queue: QueueRecord, { payload, key, delayMs, baseUrl }: Sending): Promise<PublishRecord> {
    const fields = [`"payload":${payload}`];
    if (key !== null) fields.push(`"idempotencyKey":${JSON.stringify(key)}`);
    if (delayMs > 0) fields.push(`"delay":${delayMs / 1000}`);
    const answer = await client.call('POST', `/v1/queues/${queue.name}/jobs`, `{${fields.join(',')}}`, baseUrl);
    const { body, ...call } = answer;
    const job = answer.outcome === 'ok' ? (body as { id: string; createdAt: string }) : null;
    const record: PublishRecord = {
      ...call,
      queue: queue.name,
      key,
      delayMs,
      payload,
      id: job?.id ?? null,
      createdAt: job === null ? null : Date.parse(job.createdAt),
      seenByOthers: null,
      said: answer.outcome === 'ok' ? null : reasonOf(body),
    };
    publishes.push(record);
    if (job !== null && publishes.length % 10 === 0) await look(record, job.id);
    return record;
  }

  const pipeline: Load['pipeline'] = async (queue, { baseUrl, requests, breakAfterMs }) => {
    const payloads = Array.from({ length: requests }, (_, n) => payloadOf(numbers + n + 1, random));
    numbers += requests;
    const bodies = payloads.map((payload) => `{"payload":${payload}}`);
    const { body: _, ...call } = await client.pipeline(`/v1/queues/${queue.name}/jobs`, bodies, baseUrl, breakAfterMs);
    const unknown = { id: null, createdAt: null, seenByOthers: null, said: null };
    for (const payload of payloads) {
      publishes.push({ ...call, ...unknown, queue: queue.name, key: null, delayMs: 0, payload });
    }
  };

  async function look(record: PublishRecord, id: string): Promise<void> {
    const rows = await readings.query('select from job where id = $1', [id]).catch(() => null);
    record.seenByOthers = rows === null ? null : rows.length === 1;
  }

  /** Several clients publish with one key; each repeats its request until it has an answer. */
  async function race(queue: QueueRecord): Promise<void> {
    numbers += 1;
    const sending = { payload: payloadOf(numbers, random), key: `key-${numbers}`, delayMs: 0, baseUrl: undefined };
    const insist = async () => {
      for (let tries = 0; tries < 100; tries += 1) {
        if ((await send(queue, sending)).outcome === 'ok') return;
        await new Promise((resolve) => setTimeout(resolve, 250));
      }
    };
    await Promise.all(Array.from({ length: RACERS }, insist));
  }

  async function report(jobId: string, kind: ReportRecord['kind'], retryable = true): Promise<void> {
    numbers += 1;
    const reason = kind === 'ack' ? null : `report-${numbers}`;
    const retryAfter = (queues.find(({ mode }) => mode === 'ack')?.retryAfterMs ?? 0) / 1000;
    const body = kind === 'ack' ? {} : kind === 'nack' ? { reason, retryable } : { reason, retryAfter, scope: 'job' };
    const { body: _, ...call } = await client.call('POST', `/v1/jobs/${jobId}/${kind}`, JSON.stringify(body));
    reports.push({ ...call, jobId, kind, reason });
  }

  /** Sends the reports of an ack queue; now and then two reports that contradict each other. */
  function reportLater(jobId: string, chance: number): void {
    const kinds: ReportRecord['kind'][] =
      chance < 0.6 ? ['ack'] : chance < 0.72 ? ['ack', 'nack', 'defer'] : chance < 0.82 ? ['nack'] : ['defer'];
    if (chance >= 0.93) return; // no report: the job times out
    const say = () => {
      for (const kind of kinds) void track(report(jobId, kind, chance < 0.8));
    };
    setTimeout(say, 10 + chance * 150);
  }

  function mind({ id, queue: name }: { id: string; queue: string }, before: number): Behaviour {
    const queue = queues.find((candidate) => candidate.name === name) as QueueRecord;
    const chance = chanceOf(`${id} ${before}`);
    // Long enough that a worker is seldom idle, and well below the time-out on a slow machine.
    const thinkMs = 50 + chanceOf(`think ${id} ${before}`) * 300;
    if (queue.mode === 'ack') return { thinkMs, answer: 202, afterwards: () => reportLater(id, chance) };
    if (!name.startsWith('flaky')) return { thinkMs, answer: 200 };
    if (chance < 0.35) return { thinkMs, answer: 200 };
    if (chance < 0.6) return { thinkMs, answer: 500 };
    if (chance < 0.8) return { thinkMs, answer: 429, retryAfterSeconds: queue.retryAfterMs / 1000 };
    if (chance < 0.92) return { thinkMs, answer: 'reset' };
    return { thinkMs: webhookTimeoutMs, answer: 'hang' };
  }

  /** Replays of a queue's dead letters that run at once: several of each single one, and one of all of them. */
  async function racesFor(queue: QueueRecord, baseUrl?: string): Promise<(() => Promise<void>)[]> {
    const path = `/v1/queues/${queue.id}/dlq`;
    const list = await client.call('GET', `${path}?limit=5&includeReplayed=false`);
    if (list.outcome !== 'ok') return [];
    const ids = (list.body as { jobs: { id: string }[] }).jobs.map(({ id }) => id);
    const one = async (deadLetterId: string) => {
      const { body, ...call } = await client.call('POST', `${path}/${deadLetterId}/replay`, undefined, baseUrl);
      const job = call.outcome === 'ok' ? (body as { id: string }).id : null;
      replays.push({ ...call, deadLetterId, bulk: false, replayedJobId: job });
    };
    const all = async () => {
      const { body, ...call } = await client.call('POST', `${path}/replay`, JSON.stringify({ jobIds: ids }), baseUrl);
      const done = call.outcome === 'ok' ? (body as { jobs: { id: string; replayedJobId: string }[] }).jobs : [];
      for (const { id, replayedJobId } of done) replays.push({ ...call, deadLetterId: id, bulk: true, replayedJobId });
    };
    return ids.length === 0 ? [] : [...ids.flatMap((id) => [() => one(id), () => one(id)]), all];
  }

  async function prepareReplays(baseUrl?: string): Promise<() => Promise<void>> {
    const kept = queues.filter(({ dlqEnabled, name }) => dlqEnabled && name.startsWith('flaky'));
    const races = (await Promise.all(kept.map((queue) => racesFor(queue, baseUrl)))).flat();
    return async () => void (await Promise.all(races.map((call) => track(call()))));
  }

  function next(): void {
    const queue = random.pick(queues);
    if (queue.name === 'keyed') void track(race(queue));
    else if (queue.name === 'delayed') void track(publish(queue, { delayMs: Math.round(random.between(1, 3000)) }));
    else if (queue.concurrency > 1 && queue.rateLimitMax === null) void track(publish(queue));
    // Seldom, because slow requests would pile up; and then more at once than the limit allows.
    else if (random.next() < 0.08) for (let n = 0; n < 4; n += 1) void track(publish(queue));
  }

  return {
    publishes,
    reports,
    replays,
    mind,
    publish: (queue, sending) => track(publish(queue, sending)),
    pipeline: (queue, sending) => track(pipeline(queue, sending)),
    prepareReplays,
    start(perSecond, most = MAX_UNDER_WAY) {
      const publishing = setInterval(() => underWay.size < most && next(), 1000 / perSecond);
      const replaying = setInterval(() => void track(prepareReplays().then((fire) => fire())), 1500);
      beats.push(publishing, replaying);
    },
    async stop() {
      for (const beat of beats) clearInterval(beat);
      while (underWay.size > 0) await Promise.allSettled([...underWay]);
    },
  };
}

/** `error` is a text, or names the wrong fields with their errors. */
function reasonOf(body: unknown): string | null {
  const { error } = (body ?? {}) as { error?: unknown };
  return error === undefined ? null : typeof error === 'string' ? error : JSON.stringify(error);
}

/** Everything that parsing and writing JSON again would change, and how long a payload may be. */
function payloadOf(n: number, random: Random): string {
  const filler = 'x'.repeat(Math.floor(random.next() * 200));
  return (
    `{ "n":${n}, "big":12345678901234567890, "real":1.0, "exp":1E+2, "zero":-0, "twice":1, "twice":2,` +
    `"esc":"\\u0041\\/\\ud83d é\\n", "list" : [ ], "filler":"${filler}"}`
  );
}
