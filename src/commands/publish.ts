import { text as readAll } from 'node:stream/consumers';
import { JobferryApiError, type JobferryClient, rawJson, unwrap } from '../client/index.ts';
import { readDuration } from '../domain/duration.ts';
import { jsonErrorIn } from '../domain/json-error.ts';
import { withApi } from './api.ts';
import { command, type Result, UsageError } from './command.ts';

/** A request has at most so many jobs and characters. The service takes a thousand, and by default bodies of a mebibyte. */
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
    wait: { help: 'wait until the job is completed or dead; exit code 1 if it is dead' },
  },
  argument: { name: 'QUEUE', what: 'name of the queue' },
  run: ({ argument: queueName, options }, environment) => {
    const { payload, key, lines, wait } = options;
    if (lines && (payload ?? key) !== undefined) throw new UsageError('--lines takes no --payload and no --key');
    if (lines && wait) throw new UsageError('--lines takes no --wait');
    const delay = options.delay === undefined ? {} : { delay: secondsOf(options.delay, '--delay') };
    return withApi(environment, async (client) => {
      if (lines) return publishLines(client, queueName, delay);
      const body = {
        ...{ payload: payloadOf(payload ?? (await piped('--payload'))), ...delay },
        ...(key === undefined ? {} : { idempotencyKey: key }),
      };
      const { id } = await unwrap(client.jobs.publish({ params: { queueName }, body }));
      if (!wait) return { json: { id }, text: id };
      const { status, lastError } = await client.jobs.waitForOutcome(id);
      const why = status === 'dead' && lastError !== null ? `: ${lastError}` : '';
      return { json: { id, status, lastError }, text: `${id} is ${status}${why}`, isFailure: status === 'dead' };
    });
  },
});

/** Returns the standard input. @throws UsageError for a terminal, which would be waited for */
async function piped(option: string): Promise<string> {
  if (process.stdin.isTTY)
    throw new UsageError(`${option} needs something on the standard input, or --payload is missing`);
  return readAll(process.stdin);
}

/** @throws UsageError unless it is a duration, or a number of seconds */
export function secondsOf(text: string, option: string): number {
  const ms = readDuration(/^\d+(\.\d+)?$/.test(text) ? `${text}s` : text);
  if (ms === null) throw new UsageError(`${option} must be a time such as 30s, 5m or 2h`);
  return ms / 1000;
}

/** @throws UsageError unless it is the JSON text of an object */
export function payloadOf(text: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new UsageError(`the payload is not JSON: ${jsonErrorIn(text)}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new UsageError('the payload must be a JSON object');
  return rawJson(text.trim());
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

/** Nothing is published unless each line can be. A publish that breaks off says how far it came. */
async function publishLines(client: JobferryClient, queue: string, options: { delay?: number }): Promise<Result> {
  const texts = (await piped('--lines')).split('\n').map((line, at) => ({ line: line.trim(), number: at + 1 }));
  const jobs = texts
    .filter(({ line }) => line !== '')
    .map(({ line, number }) => ({
      number,
      characters: line.length,
      job: { payload: payloadOfLine(line, number), ...options },
    }));
  const ids: string[] = [];
  const refused: { line: number; error: string }[] = [];
  for (let rest = jobs; rest.length > 0; ) {
    const batch = rest.slice(0, batchOf(rest));
    rest = rest.slice(batch.length);
    const answers = await client.jobs
      .publishMany(
        queue,
        batch.map(({ job }) => job),
      )
      .catch((error: unknown) => {
        const line = batch[0]?.number;
        throw new Error(`published ${ids.length} of ${jobs.length}; from line ${line} on: ${messageOf(error)}`);
      });
    answers.forEach((answer, n) => {
      const line = batch[n]?.number ?? 0;
      if (answer.status === 200 || answer.status === 201) ids.push(answer.body.id);
      else refused.push({ line, error: new JobferryApiError(answer).message });
    });
  }
  const lines = refused.map(({ line, error }) => `line ${line}: ${error}`);
  const text = [`published ${ids.length} of ${jobs.length}`, ...lines].join('\n');
  return { json: { ids, refused }, text, isFailure: refused.length > 0 };
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
