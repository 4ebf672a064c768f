import type { SettleItem } from './model/settle.ts';
import { type Execute, execute } from './model/statements.ts';
import type { QueueRow, Tables } from './model/tables.ts';
import type { Planted } from './simulation.ts';

/** A bug in a statement: around the right one. */
export type Around = (
  tables: Tables,
  name: string,
  values: unknown[],
  run: (values?: unknown[]) => object[],
) => object[];

export function inStatement(statement: string | RegExp, around: Around): () => Planted {
  const isMeant = (name: string) => (typeof statement === 'string' ? name === statement : statement.test(name));
  const bad: Execute = (tables, name, values) => {
    const run = (given = values) => execute(tables, name, given);
    return isMeant(name) ? around(tables, name, values, run) : run();
  };
  return () => ({ execute: bad });
}

type Change = (queue: QueueRow, tables: Tables) => Partial<QueueRow>;

/** Runs the claim on changed queues. */
export function claimSeeing(change: Change): () => Planted {
  return inStatement(
    'claim',
    seeing(([queueIds]) => queueIds as string[], change),
  );
}

/** Runs the publish on changed queues, where it claims. */
export function publishSeeing(change: Change): () => Planted {
  return inStatement(
    'publish',
    seeing((values) => (values[6] ?? []) as string[], change),
  );
}

/** Gives the claims of a publish no new token. */
export function withoutToken(tables: Tables, _name: string, _values: unknown[], run: () => object[]): object[] {
  const [row] = run() as { claims: object | null }[];
  for (const [job, before] of tables.before) if (before === null) job.token = 0;
  return [{ ...row, claims: row?.claims == null ? null : { ...row.claims, token: '0' } }];
}

/** Hides the jobs that wait from a publish. */
export function overtaking(tables: Tables, _name: string, _values: unknown[], run: () => object[]): object[] {
  const { line } = tables;
  tables.line = () => [];
  const rows = run();
  tables.line = line;
  return rows;
}

function seeing(queuesOf: (values: unknown[]) => string[], change: Change): Around {
  return (tables, _name, values, run) => {
    const restores = queuesOf(values).map((queueId) => {
      const queue = tables.queues.get(queueId) as QueueRow;
      const seen = change(queue, tables);
      const fields = Object.keys(seen) as (keyof QueueRow)[];
      const kept = Object.fromEntries(fields.map((field) => [field, queue[field]]));
      Object.assign(queue, seen);
      // The claim's own writes stay.
      return () => {
        for (const field of fields) if (queue[field] === seen[field]) Object.assign(queue, { [field]: kept[field] });
      };
    });
    const rows = run();
    for (const restore of restores) restore();
    return rows;
  };
}

/** Changes the items of a settle before it runs. */
export function settleAsked(change: (item: SettleItem, tables: Tables) => Partial<SettleItem>): () => Planted {
  return inStatement(/^settle/, (tables, _name, values, run) => {
    const items = JSON.parse(values[0] as string) as SettleItem[];
    const changed = items.map((item) => ({ ...item, ...change(item, tables) }));
    return run([JSON.stringify(changed), ...values.slice(1)]);
  });
}

export function afterSettling(change: (tables: Tables) => void): () => Planted {
  return inStatement(/^settle/, (tables, _name, _values, run) => {
    const rows = run();
    change(tables);
    return rows;
  });
}

export function late(ms: number): Around {
  return (tables, _name, _values, run) => {
    const { clock } = tables;
    tables.clock = () => clock() + ms;
    const rows = run();
    tables.clock = clock;
    return rows;
  };
}

export function answering(rows: (tables: Tables) => object[]): Around {
  return (tables) => {
    tables.before.clear();
    return rows(tables);
  };
}

export const never = answering(() => []);

/** As if all others had none. */
export function newestLock(tables: Tables): object[] {
  return [...tables.leaseLocks].slice(-1).map((worker_id) => ({ worker_id, held: true }));
}

/** As if a worker without a lock had stopped claiming at once. */
export function silentAtOnce(tables: Tables): object[] {
  const numbers = new Set([...tables.leaseLocks, ...tables.confirmations.keys()]);
  return [...numbers].map((worker_id) => ({ worker_id, held: tables.leaseLocks.has(worker_id) }));
}

export function notOverdue(tables: Tables, _name: string, values: unknown[]): object[] {
  return execute(tables, 'settle', values);
}

export function withoutKeys(
  _tables: Tables,
  _name: string,
  values: unknown[],
  run: (values?: unknown[]) => object[],
): object[] {
  const items = JSON.parse(values[0] as string) as object[];
  return run([JSON.stringify(items.map((item) => ({ ...item, key: null }))), ...values.slice(1)]);
}

export function forgetting(tables: Tables, _name: string, _values: unknown[], run: () => object[]): object[] {
  const rows = run();
  for (const { id } of tables.before.keys()) tables.jobs.delete(id);
  tables.before.clear();
  return rows;
}

/** Changes the arguments of a claim before it runs. */
export function claimAsked(change: (values: unknown[]) => unknown[]): () => Planted {
  return inStatement('claim', (_tables, _name, values, run) => run(change(values)));
}

/** More of each queue than the process has slots. */
export function withManyJobs([queueIds, ...others]: unknown[]): unknown[] {
  return [queueIds, (queueIds as string[]).map(() => 100), ...others.slice(1)];
}

/** Ends in the middle of the webhook's time. */
export function withShortLease([queueIds, jobs, bytes, since, workerId, leaseMs]: unknown[]): unknown[] {
  return [queueIds, jobs, bytes, since, workerId, (leaseMs as number) - 5000 - 250];
}

/** Changes the result of a claim. */
export function claimAnswering(change: (row: { max_attempts: number }) => object): () => Planted {
  return inStatement('claim', (_tables, _name, _values, run) => {
    const rows = run() as { id: string | null; max_attempts: number }[];
    return rows.map((row) => (row.id === null ? row : change(row)));
  });
}

export function notCounting(tables: Tables, _name: string, _values: unknown[], run: () => object[]): object[] {
  const rows = run();
  tables.usage.clear();
  return rows;
}

export function reviving(tables: Tables, _name: string, _values: unknown[], run: () => object[]): object[] {
  const dead = [...tables.jobs.values()].find(({ status }) => status === 'dead');
  const rows = run();
  if (dead !== undefined) tables.updateJob(dead, { status: 'pending', deadReason: null });
  return rows;
}

/** Loses a job that is over. */
export function losing(tables: Tables, _name: string, _values: unknown[], run: () => object[]): object[] {
  const over = [...tables.jobs.values()].find(({ status }) => status === 'completed');
  if (over !== undefined) tables.jobs.delete(over.id);
  return run();
}

/** Runs the statement as if no queue had a breaker. */
export function withoutBreakers(tables: Tables, _name: string, _values: unknown[], run: () => object[]): object[] {
  const settings = [...tables.queues.values()].map(({ breaker }) => [breaker, { ...breaker }] as const);
  for (const [breaker] of settings) Object.assign(breaker, { failures: null, seconds: null });
  const rows = run();
  for (const [breaker, { failures, seconds }] of settings) Object.assign(breaker, { failures, seconds });
  return rows;
}

/** Runs the statement as if no job were a probe. */
export function withoutProbes(tables: Tables, _name: string, _values: unknown[], run: () => object[]): object[] {
  const probes = [...tables.queues.values()].map((queue) => [queue, queue.probeJobId] as const);
  for (const [queue] of probes) queue.probeJobId = null;
  const rows = run();
  for (const [queue, probeJobId] of probes) queue.probeJobId = probeJobId;
  return rows;
}

/** Runs an ack as if it named no attempt. */
export function ofAnyAttempt(
  _tables: Tables,
  _name: string,
  [json, ...rest]: unknown[],
  run: (values?: unknown[]) => object[],
): object[] {
  const items = JSON.parse(json as string) as object[];
  return run([JSON.stringify(items.map((item) => ({ ...item, attempt: undefined }))), ...rest]);
}
