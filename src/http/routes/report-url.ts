import { validateResponse } from '@ts-rest/core';
import type { Express, RequestHandler } from 'express';
import { z } from 'zod';
import { contract } from '../../contract/index.ts';
import { LIMITS } from '../../domain/queue.ts';
import { REPORT_PATH } from '../../domain/report-url.ts';
import type { ReportRight } from '../../services/jobs/report-urls.ts';
import { describeProblems, HttpRefusal } from '../errors.ts';
import { optionalJsonReader } from '../guards/body.ts';
import { type CountRequest, requestLimits } from '../guards/request-limits.ts';
import type { RestServices } from './rest-services.ts';

/** One answer for every reason, so that it reveals nothing. */
const NOT_VALID = 'this report URL is not valid, or its time is over';

const extension = z.object({
  seconds: z.number().min(LIMITS.ackExtension.min).max(LIMITS.ackExtension.max),
  progress: z.string().nullish(),
});

interface Parts {
  services: Pick<RestServices, 'jobs' | 'reportUrls'>;
  countRequest: CountRequest;
  maxBodyBytes: number;
}

/**
 * Reports by the URL that an ack-mode delivery brings, for receivers without a key: those of the contract, an
 * extension, and what has become of the job. The URL names the attempt. It is in the logs of proxies, so no answer
 * shows the payload or the idempotency key.
 */
export function mountReportUrls(app: Express, { services, countRequest, maxBodyBytes }: Parts): void {
  const { reportUrls, jobs } = services;
  if (reportUrls === null) return;

  const authentication: RequestHandler = (req, res, next) => {
    reportUrls.rightOf(req.params.token ?? '').then((right) => {
      if (right === null) {
        next(new HttpRefusal(404, NOT_VALID));
        return;
      }
      Object.assign(res.locals, { account: right.account, right });
      next();
    }, next);
  };
  const entry = [authentication, requestLimits(countRequest)];
  const handle =
    (work: (right: ReportRight, body: unknown) => Promise<object>): RequestHandler =>
    (req, res, next) => {
      work(res.locals.right as ReportRight, req.body).then((body) => res.json(body), next);
    };
  const shown = (job: unknown) => {
    const { body } = validateResponse({ appRoute: contract.jobs.get, response: { status: 200, body: job } });
    const { id, queue, status, attempts, history } = body as Record<string, unknown>;
    return { id, queue, status, attempts, history };
  };

  const path = `/${REPORT_PATH}/:token`;
  app.get(
    path,
    ...entry,
    handle(async ({ account, jobId }) => shown(await jobs.get(account, jobId))),
  );
  const post = (name: string, work: Parameters<typeof handle>[0]) =>
    app.post(`${path}/${name}`, ...entry, optionalJsonReader(maxBodyBytes), handle(work));
  post('ack', async ({ account, jobId, attempt }) => shown(await jobs.ack(account, jobId, { attempt })));
  post('nack', async ({ account, jobId, attempt }, body) => {
    const { reason = null, ...input } = checked(contract.jobs.nack.body, body);
    return shown(await jobs.nack(account, jobId, { ...input, reason, attempt }));
  });
  post('defer', async ({ account, jobId, attempt }, body) => {
    const { reason = null, ...input } = checked(contract.jobs.defer.body, body);
    return shown(await jobs.defer(account, jobId, { ...input, reason, attempt }));
  });
  post('extend', async ({ account, jobId, attempt }, body) => {
    const { seconds, progress = null } = checked(extension, body);
    return { deadline: await jobs.extendAck(account, jobId, seconds, progress, attempt) };
  });
}

/** @throws HttpRefusal */
function checked<Body>(schema: z.ZodType<Body, z.ZodTypeDef, unknown>, body: unknown): Body {
  const result = schema.safeParse(body);
  if (!result.success) throw new HttpRefusal(400, describeProblems(result.error));
  return result.data;
}
