import { readFileSync } from 'node:fs';
import { percentiles, round } from '../measure/statistics.mjs';
import { connect, RETENTION_MS } from './seed.mjs';

/** Jobs per statement: what a busy service sends. */
const BATCH = 40;
const LIFETIME_MS = 24 * 3_600_000;
const PAYLOAD = JSON.stringify({ order: 4711, lines: Array.from({ length: 6 }, (_, n) => ({ sku: `abc${n}`, n })), note: 'x'.repeat(40) });

const PUBLISH = `select jobferry_publish($1, $2, $3 * interval '1 ms', $4 * interval '1 ms') as answers`;
const CLAIM = `select * from jobferry_claim($1, $2, $3, $4, $5 * interval '1 ms')`;
const SETTLE = 'select jobferry_settle($1) as applied';

/** One connection that publishes, claims and settles batches, one after another. */
export async function openLoad(url, queue) {
  const client = await connect(url);
  const { pid } = (await client.query('select pg_backend_pid() as pid')).rows[0];
  // Nanoseconds on a CPU.
  const backendCpu = () => Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1000;
  let keys = 0;

  async function batch(record, keyed) {
    const timed = async (name, text, values) => {
      const [startedAt, cpu] = [performance.now(), backendCpu()];
      const { rows } = await client.query({ name, text, values });
      record.ms[name].push(performance.now() - startedAt);
      record.cpu[name] += backendCpu() - cpu;
      return rows;
    };
    const startedAt = performance.now();
    const items = Array.from({ length: BATCH }, () => {
      keys += 1;
      return { accountId: queue.account_id, queue: queue.name, payload: PAYLOAD, key: keyed ? `new-${keys}` : undefined };
    });
    await timed('publish', PUBLISH, [JSON.stringify(items), keyed, RETENTION_MS, LIFETIME_MS]);
    const claimed = (await timed('claim', CLAIM, [[queue.id], [100], [4 * 1024 * 1024], 1, 20_000])).filter(({ id }) => id !== null);
    const [{ applied }] = await timed('settle', SETTLE, [JSON.stringify(claimed.map(settlement))]);
    if (applied.length !== BATCH) throw new Error(`${applied.length} jobs of ${BATCH} were settled`);
    record.ms.batch.push(performance.now() - startedAt);
    record.jobs += BATCH;
  }

  return {
    /** For so many seconds, or jobs. */
    async run({ seconds = Number.POSITIVE_INFINITY, jobs = Number.POSITIVE_INFINITY, keyed = false, record = newRecord() }) {
      const startedAt = performance.now();
      const endsAt = startedAt + seconds * 1000;
      const end = record.jobs + jobs;
      while (performance.now() < endsAt && record.jobs < end) await batch(record, keyed);
      record.seconds += (performance.now() - startedAt) / 1000;
      return record;
    },
    close: () => client.end(),
  };
}

export function newRecord() {
  return { jobs: 0, seconds: 0, cpu: { publish: 0, claim: 0, settle: 0 }, ms: { batch: [], publish: [], claim: [], settle: [] } };
}

export function summary({ jobs, seconds, cpu, ms }) {
  const perJob = Object.fromEntries(Object.entries(cpu).map(([name, us]) => [name, round(us / jobs, 1)]));
  return {
    jobs,
    jobsPerSecond: Math.round(jobs / seconds),
    ms: Object.fromEntries(Object.entries(ms).map(([name, times]) => [name, { ...percentiles(times), max: round(Math.max(...times)) }])),
    backendCpuPerJob: { ...perJob, sum: round((cpu.publish + cpu.claim + cpu.settle) / jobs, 1) },
  };
}

function settlement({ id, claim_token: token }) {
  return {
    id, expected: 'processing', token, status: 'completed', attempts: 1, deferCount: 0, interruptions: 0,
    waitMs: null, lastError: null, deadReason: null,
    entryAttempt: 1, entryStatus: 'success', entryError: null, entryCode: 200,
    answerCode: 200, answerMs: 3, answerBody: 'ok',
  };
}
