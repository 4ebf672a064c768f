import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  createClient,
  JobferryApiError,
  type JobferryClient,
  JobferryConnectionError,
  unwrap,
} from '../../../packages/client/src/index.ts';
import { meantBy } from '../../domain/spelling.ts';
import { addressOf } from '../dev/address-file.ts';
import { DATA_DIR } from '../dev/run.ts';
import { CommandError, type Environment, UsageError } from './command.ts';
import { printable } from './output.ts';
import { urlOf } from './values.ts';

/** Address and key of a Jobferry. */
interface ApiAddress {
  url: string;
  apiKey: string;
}

/** Folder of the data of `serve` by default. */
export const OWN_FOLDER = '.data';

/** Whether the folder has a database that a service brought along. */
export function hasCluster(folder: string): boolean {
  return existsSync(join(folder, 'postgres'));
}

/** The folder that DATA_DIR names; null if it has no data of Jobferry: the variable may be that of an application. */
export function namedFolder({ variables: { DATA_DIR: named } }: Pick<Environment, 'variables'>): string | null {
  return named && hasCluster(named) ? named : null;
}

/**
 * Folders of a service that brought its database along: that of DATA_DIR, or those of `dev` and `serve`. If DATA_DIR
 * names one without data, `serve` may be about to start there, so only `dev` can be meant.
 */
function foldersOf(environment: Pick<Environment, 'variables'>): string[] {
  const named = namedFolder(environment);
  if (named !== null) return [named];
  return environment.variables.DATA_DIR ? [DATA_DIR] : [DATA_DIR, OWN_FOLDER];
}

/** Both are of one place, so that a key never goes to another service. @throws UsageError */
export async function apiAddress(environment: Pick<Environment, 'variables'>): Promise<ApiAddress> {
  const { JOBFERRY_URL: url, JOBFERRY_API_KEY: apiKey } = environment.variables;
  if (url === undefined && apiKey === undefined) {
    for (const folder of foldersOf(environment)) {
      const found = await addressIn(folder);
      if (found !== null) return found;
    }
    throw new CommandError(
      'no Jobferry runs in this folder: start `jobferry dev`, or set JOBFERRY_URL and JOBFERRY_API_KEY',
    );
  }
  if (url === undefined || apiKey === undefined) throw new UsageError('set both JOBFERRY_URL and JOBFERRY_API_KEY');
  urlOf(url, 'JOBFERRY_URL', 'https://jobs.example.com');
  if (/\/v1\/*$/.test(url)) throw new UsageError('JOBFERRY_URL must be given without /v1');
  if (!/^[\x21-\x7e]+$/.test(apiKey.trim())) throw new UsageError('JOBFERRY_API_KEY must be an API key');
  return { url: url.replace(/\/+$/, ''), apiKey: apiKey.trim() };
}

/** Returns address and key of the service that runs with its data in the folder; null if none does. */
export async function addressIn(folder: string): Promise<ApiAddress | null> {
  const url = await addressOf(folder);
  const apiKey = await readFile(join(folder, 'api-key'), 'utf8').catch(() => null);
  return url === null || apiKey === null ? null : { url, apiKey: apiKey.trim() };
}

/** Gives a client of the API to a command. */
export async function withApi<T>(environment: Environment, work: (client: JobferryClient) => Promise<T>): Promise<T> {
  const { url, apiKey } = await apiAddress(environment);
  try {
    return await work(createClient({ baseUrl: url, apiKey }));
  } catch (error) {
    if (error instanceof JobferryApiError) error.message = messageOf(error);
    const isOwnKey = environment.variables.JOBFERRY_API_KEY !== undefined;
    if (error instanceof JobferryApiError && error.status === 401 && isOwnKey)
      error.message += ` (JOBFERRY_API_KEY, at ${url})`;
    if (!(error instanceof JobferryConnectionError)) throw error;
    throw new Error(`no Jobferry answers at ${url}: ${whyNot(error)}`, { cause: error });
  }
}

/** Without the name of the client's function, and in words where the cause is that of OpenSSL. */
function whyNot({ message }: JobferryConnectionError): string {
  if (/wrong version number|packet length too long/.test(message))
    return 'it does not speak TLS: try http:// in place of https://';
  return message.replace(/^.* failed after \d+ attempts?: /s, '');
}

/**
 * The name of the client's function says nothing to people who typed a command;
 * the queue or job that it was about does.
 */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message } = error;
  const call = error instanceof JobferryApiError ? error.call : null;
  if (call === null || !message.startsWith(call)) return message;
  const about = /\((.*)\)$/.exec(call)?.[1] ?? '';
  return about + message.slice(call.length + (about === '' ? 2 : 0));
}

export const QUEUE_ARGUMENT = { name: 'QUEUE', what: 'name or id of the queue' };

/** @returns the queue with this name or id. @throws CommandError if there is none */
export async function queueByNameOrId(client: JobferryClient, text: string) {
  return queueIn(await unwrap(client.queues.list()), text);
}

/** @returns the one of the queues with this name or id. @throws CommandError if there is none */
export function queueIn<Named extends { id: string; name: string }>(queues: readonly Named[], text: string): Named {
  const found = queues.find(({ id }) => id === text) ?? queues.find(({ name }) => name === text);
  if (found !== undefined) return found;
  throw new CommandError(
    noQueue(
      text,
      queues.map(({ name }) => name),
    ),
  );
}

/** @returns the error of a publish to a queue that does not exist, with the name that was probably meant */
export async function withMeantQueue(error: unknown, client: JobferryClient, name: string): Promise<unknown> {
  if (!(error instanceof JobferryApiError) || error.status !== 404) return error;
  // A key with the scope `publish` alone cannot list queues.
  const names = await unwrap(client.queues.list()).then(
    (queues) => queues.map((queue) => queue.name),
    (): string[] => [],
  );
  return names.includes(name) ? error : new CommandError(noQueue(name, names), { cause: error });
}

function noQueue(text: string, names: readonly string[]): string {
  const meant = meantBy(text, names);
  return `queue ${printable(text)} does not exist${meant === null ? '' : `: did you mean ${meant}?`}`;
}
