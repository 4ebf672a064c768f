import { rawJson } from '../../../packages/client/src/index.ts';
import { readDuration } from '../../domain/duration.ts';
import { isId } from '../../domain/id.ts';
import { jsonErrorIn } from '../../domain/json-error.ts';
import { parsedUrl } from '../../domain/parsed-url.ts';
import { UsageError } from './command.ts';

/** Values of options and arguments. Each function throws a `UsageError` for a text that is no such value. */

export const JOB_ARGUMENT = { name: 'ID', what: 'id of the job' };

/** @param name of the argument */
export function jobId(text: string, name = JOB_ARGUMENT.name): string {
  if (!isId(text)) throw new UsageError(`${name} must be the id of a job: 24 hexadecimal digits`);
  return text;
}

/** A duration, or a number of seconds. */
export function secondsOf(text: string, option: string): number {
  const ms = readDuration(/^\d+(\.\d+)?$/.test(text) ? `${text}s` : text);
  if (ms === null) throw new UsageError(`${option} must be a time such as 30s, 5m or 2h`);
  return ms / 1000;
}

/** Integers of GraphQL have 32 bits. */
const MAX_INT = 2 ** 31 - 1;

export function wholeFromOne(text: string, option: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new UsageError(`${option} must be a whole number from 1`);
  if (Number(text) > MAX_INT) throw new UsageError(`${option} must be a whole number from 1 to ${MAX_INT}`);
  return Number(text);
}

/** The JSON text of an object, every byte of which is kept. */
export function payloadOf(text: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    const hint = text.startsWith('@')
      ? '; a file comes through the standard input, as in: jobferry publish QUEUE < FILE'
      : '';
    throw new UsageError(`the payload is not JSON: ${jsonErrorIn(text)}${hint}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new UsageError('the payload must be a JSON object');
  return rawJson(text.trim());
}

/** @param example of such a URL */
export function urlOf(text: string, name: string, example = 'http://localhost:3000/jobs'): URL {
  const url = parsedUrl(text);
  if (url !== null && /^https?:$/.test(url.protocol)) return url;
  throw new UsageError(`${name} must be a URL such as ${example}`);
}
