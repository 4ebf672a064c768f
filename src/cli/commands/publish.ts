import { randomUUID } from 'node:crypto';
import { text as readAll } from 'node:stream/consumers';
import { JobferryApiError, type JobferryClient, unwrap } from '../../../packages/client/src/index.ts';
import { adviceOn } from '../../domain/outcome.ts';
import { ANY, formatPath, type PathStep, parsePath } from '../../domain/payload-path.ts';
import { withApi, withMeantQueue } from './api.ts';
import { CommandError, command, type Result, UsageError } from './command.ts';
import { printable } from './output.ts';
import { payloadOf, secondsOf } from './values.ts';

/**
 * A request has at most so many jobs and characters. The service takes a thousand, and by default bodies of a mebibyte.
 */
const BATCH = { jobs: 500, characters: 256 * 1024 };

export const PUBLISH = command({
  name: 'publish',
  summary: 'Publish a job, or with --lines many.',
  reach: 'api',
  options: {
    payload: {
      value: 'JSON',
      help: 'the payload, delivered byte for byte; read from the standard input if it is left out',
    },
    delay: { value: 'TIME', help: 'time until the first delivery, such as 30s or 2h' },
    key: { value: 'KEY', help: 'idempotency key: a second publish with it returns the first job' },
    lines: { help: 'publish each line of the standard input as a payload' },
    'key-path': {
      value: 'PATH',
      help: 'with --lines: where each payload has its idempotency key, such as order.id, so that a second run publishes no line again',
    },
    wait: { help: 'wait until the job is completed or dead; its id is on stderr at once; exit code 1 if it is dead' },
  },
  argument: { name: 'QUEUE', what: 'name of the queue' },
  run: ({ argument: queueName, options }, environment) => {
    const { payload, key, lines, wait, 'key-path': keyPath } = options;
    if (lines && (payload ?? key) !== undefined) throw new UsageError('--lines takes no --payload and no --key');
    if (key === '') throw new UsageError('--key must have 1 to 255 characters');
    if (lines && wait) throw new UsageError('--lines takes no --wait');
    if (keyPath !== undefined && !lines) throw new UsageError('--key-path needs --lines');
    const delay = options.delay === undefined ? {} : { delay: secondsOf(options.delay, '--delay') };
    const keyAt = keyPath === undefined ? undefined : stepsOf(keyPath);
    return withApi(environment, async (client) => {
      if (lines) return publishLines(client, queueName, { keyAt, ...delay });
      const body = {
        payload: payloadOf(payload ?? (await piped('--payload is missing, and the standard input is a terminal'))),
        ...delay,
        ...(key === undefined ? {} : { idempotencyKey: key }),
      };
      const answer = await client.jobs.publish({ params: { queueName }, body });
      const { id } = await unwrap(answer).catch(async (error: unknown) => {
        throw await withMeantQueue(error, client, queueName);
      });
      const created = answer.status === 201;
      const differs = answer.headers.get('x-jobferry-payload') === 'differs';
      // The result of a publish is on stdout, and a job that waits has to be known before its end.
      if (differs)
        console.error(`jobferry: the key belongs to job ${id}, which has another payload: nothing was published`);
      else if (wait) console.error(`published ${id}`);
      if (!wait) return { json: { id, created, payloadDiffers: differs }, text: id, isFailure: differs };
      const { status, lastError } = await client.jobs.waitForOutcome(id);
      const why = status === 'dead' && lastError !== null ? `: ${printable(lastError)}` : '';
      const advice = status === 'dead' && adviceOn(lastError) !== null ? `. ${adviceOn(lastError)}` : '';
      const isFailure = status === 'dead' || differs;
      return { json: { id, created, status, lastError }, text: `${id} is ${status}${why}${advice}`, isFailure };
    });
  },
});

/** Returns the standard input. @throws UsageError for a terminal, which would be waited for */
async function piped(problem: string): Promise<string> {
  if (process.stdin.isTTY) throw new UsageError(problem);
  return readAll(process.stdin);
}

/** @returns the number of jobs of the next request, at least one */
function batchOf(jobs: readonly { characters: number }[]): number {
  let characters = 0;
  const count = jobs.findIndex((job, at) => {
    characters += job.characters;
    return at > 0 && (at >= BATCH.jobs || characters > BATCH.characters);
  });
  return count === -1 ? jobs.length : count;
}

interface LinesOptions {
  /** The steps to the key in each payload; without them, each job has a key of this run. */
  keyAt: readonly string[] | undefined;
  delay?: number;
}

/**
 * Nothing is published unless each line can be. Each job has a key, so a request whose answer was lost is repeated, and
 * makes no job twice.
 */
async function publishLines(
  client: JobferryClient,
  queue: string,
  { keyAt, ...options }: LinesOptions,
): Promise<Result> {
  const run = randomUUID();
  const jobs = (await piped('--lines needs payloads on the standard input')).split('\n').flatMap((text, at) => {
    const line = text.trim();
    const number = at + 1;
    if (line === '') return [];
    const payload = payloadOfLine(line, number);
    const idempotencyKey = keyAt === undefined ? `${run}-${number}` : keyOfLine(line, keyAt, number);
    return [{ number, characters: line.length, job: { payload, idempotencyKey, ...options } }];
  });
  const ids: string[] = [];
  let earlier = 0;
  const refused: RefusedLine[] = [];
  const soFar = () => [
    ...[`published ${ids.length} of ${jobs.length}`],
    ...(earlier === 0 ? [] : [`${earlier} had been published before`]),
    ...reasonsOf(refused),
  ];
  for (let rest = jobs; rest.length > 0; ) {
    const batch = rest.slice(0, batchOf(rest));
    rest = rest.slice(batch.length);
    const sent = batch.map(({ job }) => job);
    const answers = await client.jobs.publishMany(queue, sent).catch((error: unknown) => {
      // A line that is too large alone keeps no other back.
      if (batch.length === 1 && error instanceof JobferryApiError && error.status === 413) {
        refused.push({ line: batch[0]?.number ?? 0, error: error.message });
        return [];
      }
      const from = batch[0]?.number;
      throw new CommandError(`${messageOf(error)}; lines from ${from} on may be unpublished\n${soFar().join('\n')}`);
    });
    const missing = answers.find(({ status }) => status === 404);
    if (missing !== undefined) {
      const error = await withMeantQueue(new JobferryApiError(missing), client, queue);
      // It was deleted meanwhile.
      const rest = ids.length + earlier + refused.length === 0 ? '' : `\n${soFar().join('\n')}`;
      throw new CommandError(messageOf(error) + rest, { cause: error });
    }
    for (const [n, answer] of answers.entries()) {
      const line = batch[n]?.number ?? 0;
      if (answer.status !== 200 && answer.status !== 201)
        refused.push({ line, error: new JobferryApiError(answer).message });
      else if (answer.payloadDiffers)
        refused.push({ line, error: `the key belongs to job ${answer.body.id}, which has another payload` });
      else if (answer.status === 200 && keyAt !== undefined) earlier += 1;
      else ids.push(answer.body.id);
    }
  }
  return { json: { ids, earlier, refused }, text: soFar().join('\n'), isFailure: refused.length > 0 };
}

interface RefusedLine {
  line: number;
  error: string;
}

/** A sentence about more lines than this names the first and the last one only. */
const MOST_NAMED = 10;
/** Reasons that are printed; each may have an id of its own. */
const MOST_REASONS = 20;

/** A line for each reason, in the order of the first line that has it. */
function reasonsOf(refused: readonly RefusedLine[]): string[] {
  const byError = new Map<string, number[]>();
  for (const { line, error } of refused) {
    const lines = byError.get(error) ?? [];
    lines.push(line);
    byError.set(error, lines);
  }
  const reasons = [...byError].slice(0, MOST_REASONS).map(([error, lines]) => `${namesOf(lines)}: ${printable(error)}`);
  const others = [...byError.values()].slice(MOST_REASONS).flat().length;
  return others === 0 ? reasons : [...reasons, `other lines refused: ${others} (--json has the reason of each)`];
}

function namesOf(lines: readonly number[]): string {
  const last = lines.at(-1);
  if (lines.length > MOST_NAMED) return `${lines.length} lines from ${lines[0]} to ${last}`;
  return lines.length === 1 ? `line ${last}` : `lines ${lines.slice(0, -1).join(', ')} and ${last}`;
}

/** @throws UsageError for a path that can lead to several values */
function stepsOf(path: string): string[] {
  let steps: PathStep[];
  try {
    steps = parsePath(path);
  } catch (error) {
    throw new UsageError(`--key-path: ${messageOf(error)}`);
  }
  return steps.map((step) => {
    if (step === ANY) throw new UsageError('--key-path must lead to one value, so it takes no *');
    return step;
  });
}

/** @throws UsageError unless the payload has a text or a whole number there */
function keyOfLine(text: string, steps: readonly string[], line: number): string {
  let value: unknown = JSON.parse(text);
  for (const step of steps) {
    const isInside = typeof value === 'object' && value !== null && Object.hasOwn(value, step);
    value = isInside ? (value as Record<string, unknown>)[step] : undefined;
  }
  // A larger number would be rounded, so two of them could become one key.
  if (Number.isSafeInteger(value)) return String(value);
  if (typeof value === 'string' && value !== '') return value;
  throw new UsageError(
    `line ${line}: ${formatPath(steps)} must be a text, or a whole number below 2^53; nothing was published`,
  );
}

function payloadOfLine(text: string, line: number): object {
  try {
    return payloadOf(text);
  } catch (error) {
    throw new UsageError(`line ${line}: ${messageOf(error)}; nothing was published`);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
