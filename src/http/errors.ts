import { type AppRoute, isAppRoute } from '@ts-rest/core';
import type { RequestValidationError } from '@ts-rest/express';
import type { ErrorRequestHandler, Request, Response } from 'express';
import type { ZodError } from 'zod';
import { contract, type RouteMetadata } from '../contract/index.ts';
import { type ErrorKind, type FieldErrors, JobferryError } from '../domain/errors.ts';
import { shortened } from '../domain/text.ts';
import { traceIdOf, traceOf } from '../domain/trace.ts';
import { counts } from '../telemetry/counts/counts.ts';
import { requestIdOf } from './server/request-id.ts';

/** The part of pino's logger that this folder uses. */
export interface Log {
  error(fields: object, message: string): void;
}

const STATUS_OF_KIND: Record<ErrorKind, number> = {
  invalid_fields: 400,
  invalid_request: 400,
  unauthorized: 401,
  limit_reached: 402,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  gone: 410,
  unavailable: 503,
};

/** A refusal for a reason that exists only in HTTP, such as a wrong content type. */
export class HttpRefusal extends Error {
  override readonly name = 'HttpRefusal';
  readonly status: number;
  readonly fields: FieldErrors;

  constructor(status: number, message: string, fields: FieldErrors = {}) {
    super(message);
    this.status = status;
    this.fields = fields;
  }
}

/** Returns the metadata of the contract's route that the request matches; undefined if there is none. */
export function metadataOf(req: Request): RouteMetadata | undefined {
  const { tsRestRoute } = req as { tsRestRoute?: AppRoute };
  if (tsRestRoute === undefined || !isAppRoute(tsRestRoute)) return undefined;
  return tsRestRoute.metadata as RouteMetadata | undefined;
}

/**
 * A bad path parameter gives 404. A bad body gives messages per field or one message, anything else one message (D22).
 */
export function refuseInvalidRequest(error: RequestValidationError, req: Request, res: Response): void {
  const { pathParams, body, query, headers } = error;
  if (isPublish(req)) counts.refusedPublishes.add(pathParams === null ? 'invalid' : 'not_found');
  if (pathParams !== null) {
    sendError(req, res, new HttpRefusal(404, pathParams.issues[0]?.message ?? 'not found'));
    return;
  }
  const invalid = query ?? headers ?? body;
  if (body !== null && metadataOf(req)?.errors === 'fields')
    res.status(400).json({ error: body.flatten(({ message }) => shortened(message)) });
  else sendError(req, res, new HttpRefusal(400, invalid === null ? 'invalid request' : describeProblems(invalid)));
}

/** Problems that one message names. A list of a thousand ids can have as many. */
const MAX_PROBLEMS = 10;

export function describeProblems({ issues }: ZodError): string {
  const named = issues
    .slice(0, MAX_PROBLEMS)
    .map(({ path, message }) => shortened(path.length === 0 ? message : `${path.join('.')}: ${message}`));
  const more = issues.length > MAX_PROBLEMS ? [`and ${issues.length - MAX_PROBLEMS} more`] : [];
  return [...named, ...more].join('; ');
}

/** The one place where an error becomes an answer. */
export function errorHandler(log: Log): ErrorRequestHandler {
  return (error: unknown, req, res, _next) => {
    if (isPublish(req)) countRefusedPublish(error);
    if (res.headersSent) {
      req.socket.destroy();
      return;
    }
    const refusal = refusalOf(error);
    if (refusal !== null) {
      sendError(req, res, refusal);
      return;
    }
    const { method } = req;
    const url = withoutSecrets(req.originalUrl);
    const traceId = traceIdOf(traceOf(req.headers));
    log.error({ err: error, method, url, requestId: requestIdOf(res), traceId }, 'request failed');
    sendError(req, res, new HttpRefusal(500, 'internal error'));
  };
}

/** A report URL is a right: the log must not hold it. */
function withoutSecrets(url: string): string {
  return url.replace(/(?<=\/report\/)[^/?]+/, '…');
}

function isPublish(req: Request): boolean {
  return (req as { tsRestRoute?: unknown }).tsRestRoute === contract.jobs.publish;
}

/** The metrics' name of a refusal by its status; any other is `invalid`. */
const REASON_OF_STATUS: Readonly<Record<number, string>> = {
  401: 'unauthorized',
  404: 'not_found',
  429: 'too_many_requests',
  503: 'busy',
};

/** Counts refused publishes: by key, limit or error. Overload and invalid bodies are counted elsewhere. */
function countRefusedPublish(error: unknown): void {
  if (error instanceof HttpRefusal) counts.refusedPublishes.add(REASON_OF_STATUS[error.status] ?? 'invalid');
  else if (error instanceof URIError) counts.refusedPublishes.add('invalid');
  else counts.refused(error);
}

function refusalOf(error: unknown): HttpRefusal | null {
  if (error instanceof HttpRefusal) return error;
  if (error instanceof JobferryError) return new HttpRefusal(STATUS_OF_KIND[error.kind], error.message, error.fields);
  // Express refuses a path parameter that is not percent-encoded UTF-8 this way.
  if (error instanceof URIError && 'status' in error) return new HttpRefusal(400, 'the path is not valid UTF-8');
  return null;
}

function sendError(req: Request, res: Response, { status, message, fields }: HttpRefusal): void {
  if (status === 401) res.setHeader('www-authenticate', 'Bearer');
  if (status === 503) res.setHeader('retry-after', '1');
  res.status(status);
  if (status === 400 && metadataOf(req)?.errors === 'fields') {
    const formErrors = Object.keys(fields).length === 0 ? [message] : [];
    res.json({ error: { formErrors, fieldErrors: fields } });
  } else {
    res.json({ error: message });
  }
}
