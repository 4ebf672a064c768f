import type { IncomingMessage } from 'node:http';
import { initServer } from '@ts-rest/express';
import type { z } from 'zod';
import { contract } from '../../contract/index.ts';
import { traceOf } from '../../domain/trace.ts';
import { counts } from '../../telemetry/counts/counts.ts';
import type { Log } from '../errors.ts';
import { accountOf } from '../guards/authentication.ts';
import type { Answer } from '../locals.ts';
import { pageBody } from './long-page.ts';
import type { RestServices } from './rest-services.ts';

/** Header of an answer: the names in the request that the API ignores (D37). */
export const IGNORED = 'x-jobferry-ignored';

type PublishBody = z.output<typeof contract.jobs.publish.body>;

/** Publishes the job of a request whose body is checked; on the full way, and on the short one. */
export async function publishJob(
  { jobs }: Pick<RestServices, 'jobs'>,
  queueName: string,
  body: PublishBody,
  { req, res }: { req: IncomingMessage; res: Answer },
) {
  const { waitedMs } = res.locals;
  const input = waitedMs === undefined ? body : { ...body, waitedMs };
  const { created, payloadDiffers, job } = await jobs.publish(accountOf(res), queueName, traced(input, req));
  const ignored = res.getHeader(IGNORED);
  if (ignored !== undefined) counts.ignored.add(accountOf(res).id, queueName, String(ignored));
  if (payloadDiffers) res.setHeader('x-jobferry-payload', 'differs');
  return { status: created ? 201 : 200, body: job } as const;
}

/** Acks the job of a request whose body is checked; on the full way, and on the short one. */
export async function ackJob(
  services: Pick<RestServices, 'jobs'>,
  jobId: string,
  body: z.output<typeof contract.jobs.ack.body>,
  { req, res }: { req: IncomingMessage; res: Answer },
) {
  return { status: 200, body: await services.jobs.ack(accountOf(res), jobId, traced(body, req)) } as const;
}

export function jobRoutes(services: Pick<RestServices, 'jobs' | 'accounts'>, log: Log) {
  const listed = { schema: contract.jobs.list.responses[200], log, services };
  return initServer().router(contract.jobs, {
    publish: ({ params, body, req, res }) => publishJob(services, params.queueName, body, { req, res }),
    list: async ({ params, query, res }) => {
      const page = await services.jobs.list(accountOf(res), params.id, query, () => res.destroyed);
      return { status: 200, body: pageBody(res, page, listed) };
    },
    get: async ({ params, res }) => ({ status: 200, body: await services.jobs.get(accountOf(res), params.id) }),
    ack: ({ params, body, req, res }) => ackJob(services, params.id, body, { req, res }),
    nack: async ({ params, body: { reason = null, ...input }, req, res }) => ({
      status: 200,
      body: await services.jobs.nack(accountOf(res), params.id, traced({ ...input, reason }, req)),
    }),
    defer: async ({ params, body: { reason = null, ...input }, req, res }) => ({
      status: 200,
      body: await services.jobs.defer(accountOf(res), params.id, traced({ ...input, reason }, req)),
    }),
  });
}

/** Adds the trace context of the request, if it has one. */
function traced<T extends object>(input: T, { headers }: Pick<IncomingMessage, 'headers'>): T & { trace?: string } {
  const trace = traceOf(headers);
  return trace === null ? input : { ...input, trace };
}
