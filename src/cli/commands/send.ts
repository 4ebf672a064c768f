import { rawJson } from '../../../packages/client/src/index.ts';
import { type SignedDelivery, signedDelivery } from '../../../packages/client/src/testing/signed-delivery.ts';
import { graphql, type ResultOf } from '../../../packages/query/schema/graphql.ts';
import { isId } from '../../domain/id.ts';
import { ask } from '../ask.ts';
import { secretOf } from '../listen/forward.ts';
import { apiAddress, withApi } from './api.ts';
import { CommandError, command, type Environment, type Result, UsageError } from './command.ts';
import { printable } from './output.ts';
import { jobId, payloadOf, urlOf } from './values.ts';

/** Time limit of an answer, as that of a delivery. */
const ANSWER_MS = 15_000;
const SHOWN_BODY = 2000;

const SECRET = {
  value: 'S',
  help: 'signing secret that the receiver knows; SIGNING_SECRET if it is left out',
} as const;

export const SEND = command({
  name: 'send',
  summary: 'Send one signed delivery to a receiver, without a queue and without a service.',
  options: {
    payload: { value: 'JSON', required: true, help: 'the payload' },
    secret: SECRET,
    queue: { value: 'NAME', help: 'name of the queue in the envelope; test by default' },
    attempt: { value: 'N', help: 'number of the attempt; 1 by default' },
    id: { value: 'ID', help: 'id of the job, to send the same one twice; a new one by default' },
  },
  argument: { name: 'URL', what: 'where the receiver is, such as http://localhost:3000/jobs' },
  run: async ({ argument, options: { payload, secret, queue, id, attempt: number = '1' } }, { variables }) => {
    const url = urlOf(argument, 'URL');
    const attempt = Number(number);
    if (!Number.isInteger(attempt) || attempt < 1) throw new UsageError('--attempt must be a whole number from 1');
    if (id !== undefined && !isId(id)) throw new UsageError('--id must have 24 hexadecimal digits');
    const given = secret ?? variables.SIGNING_SECRET ?? '';
    if (given === '') throw new UsageError('--secret is missing, and SIGNING_SECRET is not set');
    return post(url, await signedDelivery(payloadOf(payload), { secret: given, queue, id, attempt }));
  },
});

export const PULL = command({
  name: 'pull',
  summary:
    'Deliver a job again, to a URL on this machine: with the same payload bytes, signed with a secret of this machine. The job does not change.',
  reach: 'api',
  options: {
    forward: { value: 'URL', required: true, help: 'where it goes, such as http://localhost:3000/jobs' },
    secret: {
      value: 'S',
      help: 'signing secret that the receiver knows; SIGNING_SECRET if it is left out, or that of `listen --print-secret`',
    },
  },
  argument: { name: 'JOB', what: 'id of the job' },
  run: async ({ argument, options: { forward, secret } }, environment) => {
    const id = jobId(argument, 'JOB');
    const url = urlOf(forward, '--forward');
    const { job, own } = await readJob(environment, id);
    const delivery = await signedDelivery(rawJson(job.payloadText), {
      secret: secret ?? environment.variables.SIGNING_SECRET ?? own,
      queue: job.queue.name,
      id,
      attempt: Math.max(job.attemptsMade, 1),
      maxAttempts: job.maxAttempts,
      createdAt: new Date(job.createdAt),
    });
    return post(url, delivery);
  },
});

const PulledJob = graphql(`
  query PulledJob($id: ID!) { job(id: $id) { payloadText attemptsMade maxAttempts createdAt queue { name } } }
`);
type WireJob = NonNullable<ResultOf<typeof PulledJob>['job']> & { payloadText: string };

async function readJob(environment: Environment, id: string): Promise<{ job: WireJob; own: string }> {
  const { job } = await withApi(environment, (client) => ask(client, PulledJob, { id }));
  if (job === null) throw new CommandError(`job ${id} does not exist, or its retention has passed`);
  const { payloadText } = job;
  if (payloadText === null)
    throw new CommandError('the API key may not see payloads, or the payload cannot be decrypted');
  const { apiKey } = await apiAddress(environment);
  return { job: { ...job, payloadText }, own: secretOf(apiKey, job.queue.name) };
}

async function post(url: URL, { id, ...request }: SignedDelivery): Promise<Result> {
  const startedAt = performance.now();
  const sent = await fetch(url, { ...request, redirect: 'manual', signal: AbortSignal.timeout(ANSWER_MS) })
    .then(async (response) => ({ status: response.status, body: await response.text() }))
    .catch((error: unknown) => {
      const { cause, message } = error as Error;
      throw new CommandError(`no answer from ${url.href}: ${cause instanceof Error ? cause.message : message}`);
    });
  const { status, body } = sent;
  const durationMs = Math.round(performance.now() - startedAt);
  const shown = body === '' ? '' : `\n${body.slice(0, SHOWN_BODY).split('\n').map(printable).join('\n')}`;
  const isFailure = status < 200 || status > 299;
  return { json: { id, status, durationMs, body }, text: `${status} in ${durationMs} ms${shown}`, isFailure };
}
