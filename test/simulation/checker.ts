import { type StoredAnswers, toPublishAnswers } from '../../src/db/delivery/publish.ts';
import type { PublishAnswer } from '../../src/db/delivery/publish-items.ts';
import type { DeadReason, JobStatus } from '../../src/domain/job.ts';
import { JobShadow } from './job-shadow.ts';
import type { AckAsked } from './model/ack.ts';
import { itemsOf, type SettleItem } from './model/settle.ts';
import type { JobRow, QueueRow, Tables } from './model/tables.ts';
import type { Process } from './process.ts';
import { QueueShadow } from './queue-shadow.ts';
import type { Answer, Arrival } from './receiver.ts';

const MOVES: Record<JobStatus, readonly JobStatus[]> = {
  pending: ['pending', 'processing', 'dead'],
  processing: ['pending', 'awaiting_ack', 'completed', 'dead'],
  awaiting_ack: ['awaiting_ack', 'pending', 'completed', 'dead'],
  completed: [],
  dead: [],
};
const SETTLES = new Set(['settle', 'settle-overdue', 'settle-lost', 'settle-audited']);
/** Interruptions in a row that count as a failed attempt. */
const MAX_INTERRUPTIONS = 10;
/** After the database was away, processes have their locks again within this time. */
const TAKEN_AGAIN_MS = 2000;
/** Milliseconds for which a process may rely on the last confirmation of its lease lock; until then it is not dead. */
const CONFIRMED_MS = 2000;

/**
 * Checks every commit and every request that arrives, and reports the first that breaks an invariant.
 * It keeps its own record of events, and imports only types from `src`.
 */
export class Checker {
  readonly #tables: Tables;
  /** By their numbers, which count from one. */
  readonly #processes: readonly Process[];
  readonly #reached: (state: string) => void;
  readonly #jobs = new Map<string, JobShadow>();
  readonly #queues = new Map<string, QueueShadow>();
  readonly #keys = new Map<string, string>();
  readonly #violated: (invariant: string, detail: string) => void;
  /** Jobs that are not yet completed or dead. */
  open = 0;
  #arrivals = 0;
  #clockHasJumped = false;
  /** In simulated time. */
  #databaseBackAt = Number.NEGATIVE_INFINITY;

  /** @param violated gets the invariant's id of docs/invariants.md; must not throw, because `src` would catch it */
  constructor(
    tables: Tables,
    processes: readonly Process[],
    reached: (state: string) => void,
    violated: (invariant: string, detail: string) => void,
  ) {
    this.#tables = tables;
    this.#processes = processes;
    this.#reached = reached;
    this.#violated = violated;
  }

  queue(queueId: string): QueueShadow {
    let shadow = this.#queues.get(queueId);
    if (shadow === undefined) {
      const row = this.#tables.queues.get(queueId);
      if (row === undefined) throw new Error('no such queue');
      shadow = new QueueShadow(row, this.#violated, this.#reached);
      this.#queues.set(queueId, shadow);
    }
    return shadow;
  }

  onCommit(name: string, values: unknown[], rows: object[], by: Process): void {
    const now = this.#tables.clock();
    // A result that should not be applied breaks several invariants: the first one reported is the cause.
    if (SETTLES.has(name)) this.#settled(values, (rows[0] as { applied: string[] }).applied, now);
    if (name === 'ack') this.#acked(values, rows);
    for (const [job, before] of this.#tables.before) {
      if (before === null) this.#isNew(job);
      else this.#hasMoved(name, job, before, now, by);
    }
    if (name === 'claim') {
      const touched = [...this.#tables.before];
      for (const queueId of values[0] as string[]) {
        const ofQueue = touched.filter(([job]) => job.queueId === queueId);
        this.#claimed(queueId, ofQueue, now);
      }
    }
    if (name === 'publish') this.#claimedNew(now);
    if (name === 'publish') this.#published(values, toPublishAnswers((rows[0] as { answers: StoredAnswers }).answers));
    if (rows.length === 0) return;
    if (name === 'pause-queues' || name === 'resume-queues') {
      for (const { id } of (rows as { id: string; changed: boolean }[]).filter(({ changed }) => changed)) {
        if (name === 'pause-queues') this.queue(id).isPaused(now);
        else this.queue(id).paused = false;
      }
    }
    if (name === 'renew-breaker') this.queue(values[0] as string).wasMoved(now);
    if (name === 'delete-queue') this.queue(values[0] as string).isDeleted();
  }

  #isNew(job: JobRow): void {
    this.#jobs.set(job.id, new JobShadow(job, (...checked) => this.#check(...checked)));
    this.open += 1;
  }

  #hasMoved(name: string, job: JobRow, before: JobRow, now: number, by: Process): void {
    const where = `${name}: ${job.id} ${before.status} -> ${job.status}`;
    if (before.status === 'completed' || before.status === 'dead') {
      const { key: _, ...left } = job;
      const isSame = Object.entries(left).every(([field, value]) => before[field as keyof JobRow] === value);
      this.#check(isSame, 'I-18 TerminalFinal', where);
      return;
    }
    this.#check(MOVES[before.status].includes(job.status), 'I-19 Transitions', where);
    this.#check((job.status === 'processing') === (name === 'claim'), 'I-19 Transitions', where);
    this.#check(job.attempts >= 0 && job.attempts <= job.maxAttempts, 'I-7 AttemptCap', `${where}: ${job.attempts}`);
    if (job.deferCount > before.deferCount) {
      this.#check(job.deferCount <= (job.maxDefers ?? 0), 'I-9 DeferCap', `${where}: ${job.deferCount}`);
    }
    const isUncapped = job.interruptions >= MAX_INTERRUPTIONS;
    this.#check(!isUncapped, 'D2 poison', `${where}: interrupted ${job.interruptions} times`);
    const isOnWire = name === 'settle-audited' && before.status === 'processing';
    this.#check(!isOnWire, 'I-19 Transitions', `${where}: cancelled while it is delivered`);
    const queue = this.queue(job.queueId);
    this.#shadow(job.id).historyGrows(where, job, before, queue.hasBreaker && queue.isProbe(job.id));
    if (job.status === 'dead') this.#hasDied(where, job, before, now);
    if (SETTLES.has(name)) this.#inTime(name, where, job, before, now, by);
    if (job.status === 'completed' || job.status === 'dead') this.open -= 1;
  }

  #hasDied(where: string, job: JobRow, before: JobRow, now: number): void {
    const queue = this.#tables.queues.get(job.queueId) as QueueRow;
    this.#check(job.deadReason !== null, 'I-19 Transitions', `${where} without a reason`);
    const leaves = queue.dlqEnabled && queue.deletedAt === null && job.deadReason !== 'cancelled';
    this.#check(this.#tables.letters.has(job.id) === leaves, 'I-25 DlqIff', `${where} (${job.deadReason})`);
    if (job.deadReason === 'delivery_lifetime_exceeded' && before.status === 'pending') {
      // A lifetime that was over before a pause stays over: it may be ended while the queue is paused, or resumed.
      const { pausedAt } = this.queue(queue.id);
      const isOver = pausedAt === null ? now >= this.#tables.deliverBy(job) : pausedAt >= job.deliverBy;
      const wasOver = isOver || this.#clockHasJumped || now >= this.#tables.deliverBy(job);
      this.#check(wasOver, 'I-11 Lifetime', `${where} before its end`);
      const standsStill = queue.pausedAt !== null && this.#tables.deliverBy(job) > queue.pausedAt;
      this.#check(!standsStill, 'I-11 Lifetime', `${where} while its clock stands still`);
    }
    if (job.deadReason === 'attempts_exhausted') {
      this.#check(job.attempts === job.maxAttempts, 'I-7 AttemptCap', `${where} after ${job.attempts}`);
    }
    this.#reached(`dead: ${job.deadReason as DeadReason}`);
    if (job.lastError === 'worker_lost') this.#reached('a job that kills workers comes to an end');
  }

  #inTime(name: string, where: string, job: JobRow, before: JobRow, now: number, by: Process): void {
    const deadline = before.deadline ?? 0;
    const entry = job.history.length > before.history.length ? job.history.at(-1) : undefined;
    if (entry?.error === 'ack_timeout') this.#check(now >= deadline, 'I-21 AckTimeout', `${where} too early`);
    if (name === 'settle-overdue') this.#check(now >= deadline, 'I-24 Fencing', `${where} before the lease ended`);
    const isRetry = job.status === 'pending' && (entry?.status === 'failed' || entry?.status === 'nacked');
    if (isRetry) {
      const factor = job.backoffType === 'fixed' ? 1 : 2 ** (job.attempts - 1);
      const least = now + Math.min(job.backoffDelay * factor, 3600) * 1000;
      this.#check(job.scheduledFor >= least, 'I-10 NotEarly', `${where}: backoff of ${job.scheduledFor - now} ms`);
    }
    if (before.status === 'processing' && name === 'settle' && before.workerId === by.workerId) return;
    if (before.status === 'processing' && name !== 'settle-overdue') {
      const isHeld = before.workerId !== null && this.#tables.leaseLocks.has(before.workerId);
      this.#check(!isHeld, 'I-41 LeaseKnown', `${where} is taken back from ${before.workerId}, whose lock is there`);
      const worker = this.#processes[(before.workerId ?? 0) - 1];
      const mayClaim = worker?.dead === false && worker.lock.hasReason;
      this.#check(!mayClaim, 'I-35 Recovery', `${where} is taken back from ${before.workerId}, which may still claim`);
    }
    if (before.status === 'processing' && job.status === 'pending') {
      this.#reached('a claim is taken back');
      if (this.queue(job.queueId).lastProbe === job.id) this.#reached('the probe is taken back');
    }
  }

  #claimed(queueId: string, touched: [JobRow, JobRow | null][], now: number): void {
    const jobs = touched.map(([job]) => job);
    if (jobs.length === 0) this.queue(queueId).gaveNothing(now);
    for (const [job, before] of touched) {
      const shadow = this.#shadow(job.id);
      shadow.claims += 1;
      shadow.clockHasJumped = false;
      this.#check(now >= (before?.scheduledFor ?? 0), 'I-10 NotEarly', `${job.id} claimed before its time`);
      this.#check(now < this.#tables.deliverBy(job), 'I-11 Lifetime', `${job.id} claimed after its lifetime`);
      this.#check(job.token > (before?.token ?? 0), 'I-24 Fencing', `${job.id} claimed without a new token`);
    }
    if (jobs.length > 0) this.queue(queueId).claimed(jobs, now, this.#tables.inFlight(queueId));
  }

  /** Jobs that a publish has claimed when it stored them. */
  #claimedNew(now: number): void {
    const claimed = [...this.#tables.before].filter(([job, before]) => before === null && job.status !== 'pending');
    const queues = new Set(claimed.map(([{ queueId }]) => queueId));
    if (queues.size > 0) this.#reached('a publish claims');
    for (const queueId of queues) {
      const first = this.#tables.line(queueId)[0];
      this.#check(!(first && first.scheduledFor < now), 'order', `a new job of ${queueId} overtakes ${first?.id}`);
      const ofQueue = claimed.filter(([job]) => job.queueId === queueId);
      this.#claimed(queueId, ofQueue, now);
    }
  }

  #settled(values: unknown[], applied: string[], now: number): void {
    const items = itemsOf(values[0]);
    const touched = new Set([...this.#tables.before.keys()].map(({ id }) => id));
    const told: [queueId: string, item: SettleItem][] = [];
    for (const item of items) {
      const job = this.#tables.jobs.get(item.id);
      if (job === undefined) continue;
      const before = this.#tables.before.get(job);
      const isCurrent = before?.status === item.expected && String(before.token) === item.token;
      // A batch may have results of several claims of a job; its id shows only that one was applied.
      if (isCurrent && touched.delete(item.id)) {
        this.#hasEnded(job, item.expected, item.token);
        this.queue(job.queueId).affected(item, now);
        told.push([job.queueId, item]);
      } else {
        this.#reached('a late result changes nothing');
        if (job.token > Number(item.token)) this.#reached('a late result comes after a new claim');
      }
    }
    for (const queueId of new Set(told.map(([id]) => id))) {
      const ofQueue = told.filter(([id]) => id === queueId).map(([, item]) => item);
      this.queue(queueId).told(ofQueue, now);
    }
    const [changed] = touched;
    this.#check(changed === undefined, 'I-24 Fencing', `${changed} was changed by a result of another claim`);
    this.#winnersAreTold(applied);
  }

  #winnersAreTold(applied: readonly string[]): void {
    const won = [...this.#tables.before.keys()].map(({ id }) => id).sort();
    const isHonest = JSON.stringify(won) === JSON.stringify([...applied].sort());
    this.#check(isHonest, 'I-20 OneReport', `${applied} are told that they have won, and ${won} have`);
  }

  /**
   * The statement of ordinary acks decides itself what to change,
   * so each of its changes is compared with what was asked.
   */
  #acked(values: unknown[], rows: object[]): void {
    const asked = JSON.parse(values[0] as string) as AckAsked[];
    const { acked } = rows[0] as { acked: { id: string }[] | null };
    for (const [job, before] of this.#tables.before) {
      const item = asked.find(({ id }) => id === job.id);
      const isMeant = item !== undefined && item.accountId === job.accountId && before?.status === 'awaiting_ack';
      this.#check(isMeant, 'I-24 Fencing', `${job.id} (${before?.status}) was changed by an ack`);
      this.#check(
        (item?.attempt ?? job.attempts) === job.attempts,
        'I-24 Fencing',
        `${job.id}: an ack of another attempt`,
      );
      const wasProbe = this.queue(job.queueId).probe === job.id;
      this.#check(!wasProbe, 'I-16 Probe', `${job.id} is the probe, and its ack resumed nothing`);
      this.#hasEnded(job, 'awaiting_ack', String(before?.token));
      this.#reached('an ordinary ack');
    }
    this.#winnersAreTold((acked ?? []).map(({ id }) => id));
  }

  #hasEnded(job: JobRow, expected: JobStatus, token: string): void {
    const episode = `${expected} ${token}`;
    const { ended } = this.#shadow(job.id);
    // A pending job keeps the token of its last claim, so it can be there with one several times.
    const isNew = !ended.has(episode) || expected === 'pending';
    this.#check(isNew, 'I-20 OneReport', `${job.id}: ${episode} ended twice`);
    ended.add(episode);
  }

  #published(values: unknown[], answers: PublishAnswer[]): void {
    const items = JSON.parse(values[0] as string) as { key: string | null }[];
    for (const [n, answer] of answers.entries()) {
      const key = items[n]?.key;
      if (!('id' in answer) || key == null) continue;
      const known = this.#keys.get(`${answer.queueId} ${key}`);
      this.#check(known === undefined || known === answer.id, 'I-17 Idempotent', `two jobs for the key ${key}`);
      this.#check(
        (known === undefined) === (answer.outcome === 'created'),
        'I-17 Idempotent',
        `${key}: ${answer.outcome}`,
      );
      this.#keys.set(`${answer.queueId} ${key}`, answer.id);
    }
  }

  /** A client has got a 201 or a 200 for the job. */
  onAcknowledged(jobId: string): void {
    this.#check(this.#tables.jobs.has(jobId), 'I-3 CommitBeforeAck', `${jobId} is not there`);
  }

  /** A client has got no answer to its publish, from a process that ran all the time. */
  onPublishUnanswered(process: Process): void {
    this.#violated('I-37 HonestOutage', `a publish that ${process.name} has not answered`);
  }

  onSent(jobId: string): void {
    const shadow = this.#jobs.get(jobId);
    if (shadow === undefined) this.#violated('I-2 NoPhantom', `${jobId} is sent`);
    else shadow.sends += 1;
  }

  onArrival(arrival: Arrival, webhookTimeoutMs: number): void {
    const { jobId, process, attempt } = arrival;
    this.#arrivals += 1;
    const job = this.#tables.jobs.get(jobId);
    this.#check(job !== undefined, 'I-2 NoPhantom', `${jobId} arrives`);
    if (job === undefined) return;
    const shadow = this.#shadow(jobId);
    shadow.arrivals += 1;
    const more = `${jobId} arrives ${shadow.arrivals} times after ${shadow.claims} claims`;
    this.#check(shadow.arrivals <= shadow.claims, 'I-41 LeaseKnown', more);
    this.#check(arrival.maxAttempts === job.maxAttempts, 'I-6 Envelope', jobId);
    this.#check(attempt >= 1 && attempt <= job.maxAttempts, 'I-7 AttemptCap', `${jobId}: attempt ${attempt} arrives`);
    const { lastAttempt } = shadow;
    shadow.lastAttempt = Math.max(attempt, lastAttempt);
    const { inFlight } = process.dispatcher;
    this.#check(inFlight <= process.capacity, 'capacity', `${process.name} delivers ${inFlight} at once`);
    // A worker that lost its lease lock may have been declared dead while it goes on; duplicates are the price.
    if (process.everSilent || this.#clockHasJumped) return;
    this.#check(attempt >= lastAttempt, 'I-6 Envelope', `${jobId}: attempt ${attempt} after ${lastAttempt}`);
    const isOwn = job.status === 'processing' && job.workerId === process.workerId && job.attempts === attempt;
    this.#check(
      isOwn,
      'I-24 Fencing',
      `${jobId} (${job.status}) is delivered by ${process.name}, which has it no more`,
    );
    this.queue(job.queueId).arrived(arrival, webhookTimeoutMs);
  }

  onAnswer({ jobId, attempt }: Arrival, answer: Answer): void {
    this.#shadow(jobId).answers.push({ attempt, answer });
  }

  /** Leases end by the database's clock, and that clock was fast. */
  onClockJump(): void {
    this.#clockHasJumped = true;
    for (const queue of this.#queues.values()) queue.clockJumps();
    for (const job of this.#jobs.values()) job.clockHasJumped = true;
  }

  /** Only a process whose lock was confirmed within the last two seconds may send a claim. */
  onAsk(name: string, values: unknown[], { name: who, lock }: Process, now: number): void {
    const claims = name === 'claim' || (name === 'publish' && values[6] !== null);
    if (!claims || lock.lostAt === null) return;
    this.#check(now - lock.lostAt <= CONFIRMED_MS, 'I-41 LeaseKnown', `${who} claims without its lease lock`);
    this.#reached('a claim is asked for in the two seconds after the lock was lost');
  }

  onDatabaseBack(now: number): void {
    this.#databaseBackAt = now;
  }

  onDeclaredDead(workerId: number, worker: Process | undefined, now: number): void {
    // It may have its lock again when the answer arrives: `settle-lost` looks for it once more.
    const since = worker?.firstSilentAt ?? Number.POSITIVE_INFINITY;
    const isSilent = worker?.lock.hasReason === false && worker.everSilent;
    const hasStopped = worker?.dead === true || isSilent || since <= now - CONFIRMED_MS;
    this.#check(hasStopped, 'I-35 Recovery', `process ${workerId} is declared dead too soon`);
    if (worker?.dead === false) this.#reached('a process that lives is declared dead');
    const isWell = worker?.dead === false && worker.freezes === 0 && !worker.lock.everSilenced;
    const isEarly = now - this.#databaseBackAt < TAKEN_AGAIN_MS;
    this.#check(!(isWell && isEarly), 'I-35 Recovery', `process ${workerId} is declared dead after an outage of all`);
  }

  /** At the end of the sequence. */
  onEnd(acknowledged: ReadonlySet<string>, isFaultless: boolean): void {
    const usage = [...this.#tables.usage.values()].reduce((sum, used) => sum + used, 0);
    this.#check(usage >= this.#arrivals, 'I-29 Usage', `${this.#arrivals} deliveries, of which ${usage} are counted`);
    for (const id of acknowledged)
      this.#check(this.#tables.jobs.has(id), 'I-1 NoLoss', `${id} was published and is gone`);
    for (const job of this.#tables.jobs.values()) {
      const { answers, sends } = this.#shadow(job.id);
      this.#check(
        job.status === 'completed' || job.status === 'dead',
        'I-1 NoLoss',
        `${job.id} is still ${job.status}`,
      );
      if (job.status === 'completed') {
        const wasAccepted = answers.some(
          ({ answer }) => (answer.statusCode ?? 0) >= 200 && (answer.statusCode ?? 0) < 300,
        );
        this.#check(wasAccepted, 'I-1 NoLoss', `${job.id} is completed and no webhook has accepted it`);
      }
      if (isFaultless) {
        this.#check(
          sends === job.history.length,
          'I-22 History',
          `${job.id}: ${sends} sends, ${job.history.length} entries`,
        );
      }
    }
    for (const id of this.#tables.letters.keys()) {
      this.#check(this.#tables.jobs.get(id)?.status === 'dead', 'I-25 DlqIff', `a dead letter of ${id}, which lives`);
    }
  }

  #shadow(jobId: string): JobShadow {
    const shadow = this.#jobs.get(jobId);
    if (shadow === undefined) throw new Error(`${jobId} came from nowhere`);
    return shadow;
  }

  #check(holds: boolean, invariant: string, detail: string): void {
    if (!holds) this.#violated(invariant, detail);
  }
}
