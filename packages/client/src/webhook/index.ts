/** `@jobferry/client/webhook`: handlers for receivers. Needs no other package and no module of Node. */
export { JobferryApiError, JobferryConnectionError } from '../errors.ts';
export type { DeliveredJob, Delivery, ReportedJob } from './delivery.ts';
export { expressHandler, type NodeRequest, type NodeResponse } from './express.ts';
export {
  type FastifyLike,
  type FastifyParsing,
  type FastifyReplyLike,
  type FastifyRequestLike,
  fastifyHandler,
} from './fastify.ts';
export { type FetchContext, fetchHandler } from './fetch.ts';
export type { Late, WebhookOptions } from './options.ts';
export type { HandlerFunction } from './receive.ts';
export type { Refusal, RefusalCause } from './refusals.ts';
export type { PayloadSchema, SchemaIssue, SchemaPathPart, SchemaResult, SchemaTypes } from './schema.ts';
export { verifySignature } from './signature.ts';
export { Backpressure, type BackpressureOptions, Permanent } from './thrown.ts';
