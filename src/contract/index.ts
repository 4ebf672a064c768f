/** The REST contract: the spec's "Endpoints" as data, shared by the server and the typed client. */
import { initContract } from '@ts-rest/core';
import { commonResponses } from './common.ts';
import { deadLetters } from './dead-letters.ts';
import { jobs } from './jobs.ts';
import { queues } from './queues.ts';

export type { BodyRule, RouteMetadata } from './common.ts';
export { ignoredIn } from './ignored.ts';
export { type JsonObject, VerbatimJson, writeJson } from './verbatim-json.ts';

export const contract = initContract().router(
  { queues, jobs, deadLetters },
  { pathPrefix: '/v1', strictStatusCodes: true, commonResponses },
);
