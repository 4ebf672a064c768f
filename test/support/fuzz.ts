import { setTimeout as wait } from 'node:timers/promises';
import fc from 'fast-check';
import { Pool } from 'undici';

/**
 * Thousands of generated inputs in seconds: fast-check runs one case after the other, so the cases are
 * drawn from it here and sent several at a time. A case that fails is given back to fast-check, which
 * shrinks it and reports its seed.
 */

/** Per route; `npm run test:long` takes 600, `npm run rig fuzz` 10 000. */
export const FUZZ_CASES = Number(process.env.FUZZ_CASES ?? 150);
/** A count out of 2000 cases, for as many as there are. */
export const outOf2000 = (count: number) => Math.ceil((count * Math.min(FUZZ_CASES, 2000)) / 2000);
/** The seed of the first batch; the seed of a failure is in its message. */
const SEED = Number(process.env.FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31));
/** Cases in memory at once. */
const BATCH = 2000;
/** Cases of a batch for what has not been seen yet, and the most such batches. */
const MORE = 300;
const MOST_MORE = 50;
const IN_FLIGHT = 24;

/** Room for many more cases than usual, and for a busy machine. */
export const FUZZ_TIMEOUT_MS = 600_000 + FUZZ_CASES * 20;

interface FuzzOptions {
  inFlight?: number;
  /**
   * Whether the test has seen all that it has to see. Until then there are more cases, so it needs no luck. Asked
   * before each of these batches, so it may also bring back what earlier cases used up.
   */
  until?: () => boolean | Promise<boolean>;
}

/** Fails unless every case passes. A failure names the seed, and the smallest case that fails. */
export async function fuzz<Case>(
  cases: fc.Arbitrary<Case>,
  check: (input: Case) => Promise<void>,
  { inFlight = IN_FLIGHT, until = () => true }: FuzzOptions = {},
): Promise<void> {
  const sendBatch = async (batch: number, numRuns: number) => {
    const seed = (SEED + batch) | 0;
    const inputs = fc.sample(cases, { seed, numRuns });
    const failure = await firstFailure(inputs, check, inFlight);
    if (failure !== null) await explain(cases, check, seed, failure);
  };
  let batch = 0;
  for (; batch * BATCH < FUZZ_CASES; batch += 1) await sendBatch(batch, Math.min(BATCH, FUZZ_CASES - batch * BATCH));
  for (let more = 0; more < MOST_MORE && !(await until()); more += 1) await sendBatch(batch + more, MORE);
}

interface Failure {
  index: number;
  input: unknown;
  error: unknown;
}

async function firstFailure<Case>(
  inputs: Case[],
  check: (input: Case) => Promise<void>,
  inFlight: number,
): Promise<Failure | null> {
  const failures: Failure[] = [];
  const entries = inputs.entries();
  const worker = async () => {
    for (const [index, input] of entries) {
      if (failures.length > 0) return;
      await check(input).catch((error: unknown) => failures.push({ index, input, error }));
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return failures[0] ?? null;
}

/** Runs the case again, alone and then smaller and smaller. */
async function explain<Case>(
  cases: fc.Arbitrary<Case>,
  check: (input: Case) => Promise<void>,
  seed: number,
  { index, input, error }: Failure,
): Promise<never> {
  const again = `to repeat it: FUZZ_SEED=${seed}`;
  try {
    await fc.assert(fc.asyncProperty(cases, check), { seed, path: String(index), numRuns: 1 });
  } catch (smallest) {
    throw new Error(`case ${index} fails, ${again}\n${String(smallest)}`, { cause: error });
  }
  throw new Error(`case ${index} failed among others but not alone, ${again}\n${fc.stringify(input)}`, {
    cause: error,
  });
}

export interface FuzzAnswer {
  status: number;
  headers: { get(name: string): string | null };
  text: string;
}

export interface FuzzClient {
  send(method: string, path: string, headers: Record<string, string>, body?: string | Uint8Array): Promise<FuzzAnswer>;
  close(): Promise<void>;
}

/** The answer that the database did not respond in time. */
const NOT_NOW = /"UNAVAILABLE"|"UnavailableError"/;
const TRIES = 5;

/**
 * Connections that are kept, and paths that are sent as they are: `fetch` would tidy them up. A 503 is
 * repeated, because a busy machine may cause it; a 503 that the input causes comes every time, and is returned in the
 * end.
 */
export function openClient(baseUrl: string): FuzzClient {
  const pool = new Pool(baseUrl, { connections: IN_FLIGHT });

  async function once(...[method, path, headers, body]: Parameters<FuzzClient['send']>): Promise<FuzzAnswer> {
    const answer = await pool.request({
      method: method as 'GET',
      path,
      headers,
      ...(body === undefined ? {} : { body }),
    });
    const text = await answer.body.text();
    const get = (name: string) => [answer.headers[name] ?? []].flat()[0] ?? null;
    return { status: answer.statusCode, headers: { get }, text };
  }

  return {
    async send(...request) {
      for (let attempt = 1; ; attempt += 1) {
        const answer = await once(...request);
        const refused = answer.status === 503 || NOT_NOW.test(answer.text);
        if (!refused || attempt === TRIES) return answer;
        await wait(1000 * Number(answer.headers.get('retry-after') ?? 1));
      }
    },
    close: () => pool.close(),
  };
}

/** Texts that mean something to a parser, a database or JavaScript. */
const LOADED_TEXTS = [
  ...['', ' ', '\0', '\ud800', '\uffff', '%', '_', '\\', "'", '"', '$1', '{}', '[]', 'null', 'NaN', 'true', '0', '-1'],
  ...['__proto__', 'constructor', 'toString', 'infinity', 'now', '1e400', '../..', '%00', '\u202e', '🚢'],
  ...['ack', 'standard', 'fixed', 'retry', 'dead', 'queue', 'job', 'openai', 'http://127.0.0.1:9/', 'f'.repeat(24)],
];
export const text = fc.oneof(
  fc.constantFrom(...LOADED_TEXTS),
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.string({ maxLength: 300 }),
);

/** JSON source text of numbers, so that they come in forms that `JSON.stringify` never writes. */
export const number = fc.oneof(
  fc.constantFrom('0', '-0', '1', '-1', '0.001', '1e400', '-1e400', '9007199254740993', '2147483648', '1e-400', '3.0'),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.integer().map(String),
);

/** JSON source text of any value. */
export const { value } = fc.letrec<{ value: string; list: string; object: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    text.map((plain) => JSON.stringify(plain)),
    number,
    fc.constantFrom('null', 'true', 'false'),
    tie('list'),
    tie('object'),
  ),
  list: fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
  object: fc
    .array(fc.tuple(text, tie('value')), { maxLength: 4 })
    .map((members) => `{${members.map(([key, member]) => `${JSON.stringify(key)}:${member}`).join(' , ')}}`),
}));
