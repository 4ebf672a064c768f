/** `jobferry/webhook`: for the receiving side. Nothing here needs Node. */
export { JobferryApiError, JobferryConnectionError } from '../errors.ts';
export { Backpressure, type BackpressureOptions, type DeliveredJob, type Delivery } from './delivery.ts';
export { expressHandler, type NodeRequest, type NodeResponse } from './express.ts';
export { type FetchContext, fetchHandler } from './fetch.ts';
export type { Late, WebhookOptions } from './options.ts';
export type { HandlerFunction } from './receive.ts';
export { verifySignature } from './signature.ts';
