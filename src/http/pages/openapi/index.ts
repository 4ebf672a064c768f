import { generateOpenApi } from '@ts-rest/open-api';
import { contract } from '../../../contract/index.ts';
import { completeOperation } from './operation.ts';
import { deliveryWebhook, envelopeSchema } from './webhook.ts';

/** Keywords whose values are data and not schemas, so they are not converted. */
const DATA = new Set(['example', 'examples', 'default', 'enum', 'value']);

/**
 * Converts schemas from OpenAPI 3.0, which the generator writes, to 3.1, which has webhooks. In 3.1 a schema is plain
 * JSON Schema: instead of `nullable`, null is one of the types.
 */
function toJsonSchema(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(toJsonSchema);
  if (typeof node !== 'object' || node === null) return node;
  const { nullable, ...rest } = node as Record<string, unknown>;
  const entries = Object.entries(rest)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => [key, DATA.has(key) ? value : toJsonSchema(value)]);
  const result: Record<string, unknown> = Object.fromEntries(entries);
  if (nullable === true && typeof result.type === 'string') result.type = [result.type, 'null'];
  return result;
}

/** The parts of the configuration that clients and receivers see. */
export interface OpenApiOptions {
  signatureHeader: string;
  templates: Readonly<Record<string, unknown>>;
}

/** A JSON value, which only tests read again. */
type OpenApiDocument = Record<string, unknown>;

/** Set by the spec, and not the version of Jobferry. */
const CONTRACT_VERSION = '0.0.1';

const DESCRIPTION = `A job queue that delivers to webhooks. Publish a JSON object to a queue. Jobferry stores it and posts it to the
queue's \`webhookUrl\`, signed, with retries, limits, backpressure, dead letters and a history of every attempt.

**Authentication.** Every operation needs \`Authorization: Bearer <API key>\`.

**Version** ${CONTRACT_VERSION} is that of this interface. The releases of Jobferry have versions of their own.

**Bodies** are JSON in UTF-8. Unknown fields and query parameters are ignored, and named by the answer's header
\`x-jobferry-ignored\`, each with the known name that was probably meant. Durations are in seconds, with decimals if the type is
\`number\`. Times in answers are in UTC with milliseconds.

**Errors** are JSON, including those that no operation lists: 404 for an unknown path or method, 400 for a malformed HTTP
request, 408 for a request that takes too long to arrive, 417 for an \`Expect\` header that the server cannot fulfil, and
431 for a request head that is too large.

**Retention.** Jobs, their history and their dead letters are removed when the retention of the job has passed, by default
72 hours after its publish. A job that has not ended by then is kept until it ends, and a job that dies only then is kept
for one more delivery lifetime, by default 24 hours.`;

const TAGS = [
  { name: 'Queues', description: 'Create, change and delete queues, which define how jobs are delivered.' },
  { name: 'Jobs', description: 'Publish, list and read jobs, and report on them in ack mode.' },
  { name: 'Dead letters', description: 'List the dead letters of a queue, and replay them.' },
];

/**
 * OpenAPI does not allow two paths that differ only in the names of their parameters. The contract has such a pair:
 * publish takes the name of a queue, and the job list its id. In the document they are one path, and each operation
 * describes its parameter.
 */
const SHARED_PATH = '/v1/queues/{queue}/jobs';
const SHARED_PARAMETER: Readonly<Record<string, string>> = {
  '/v1/queues/{queueName}/jobs': 'queueName',
  '/v1/queues/{id}/jobs': 'id',
};

/** Returns the contract as an OpenAPI document, which describes the wire format for people and for generators. */
export function openApiDocument({ signatureHeader, templates }: OpenApiOptions): OpenApiDocument {
  const { paths, components, ...head } = generateOpenApi(
    contract,
    {
      info: {
        title: 'Jobferry',
        version: CONTRACT_VERSION,
        description: DESCRIPTION,
        license: { name: 'MIT', identifier: 'MIT' } as { name: string },
      },
      // Relative to the address of the document, which may be below a path prefix.
      servers: [{ url: '.', description: 'The server that this document comes from.' }],
      tags: TAGS,
      components: {
        securitySchemes: { apiKey: { type: 'http', scheme: 'bearer', description: 'An API key of an account.' } },
        headers: {
          'WWW-Authenticate': {
            description: 'The authentication scheme, always `Bearer`.',
            required: true,
            schema: { const: 'Bearer' } as object,
          },
          'Retry-After': {
            description: 'Time after which the client may retry, in seconds.',
            required: true,
            schema: { type: 'integer', minimum: 0 },
          },
        },
      },
    },
    { setOperationId: 'concatenated-path', operationMapper: completeOperation },
  );
  const schemas: Record<string, Schema> = {
    ...(components?.schemas as Record<string, Schema>),
    Envelope: envelopeSchema,
  };
  nameTemplates(schemas, Object.keys(templates));
  return toJsonSchema({
    ...head,
    openapi: '3.1.0',
    paths: shareQueuePath(paths),
    webhooks: { delivery: deliveryWebhook(signatureHeader) },
    components: { ...components, schemas },
  }) as OpenApiDocument;
}

interface Schema {
  properties?: Record<string, object>;
}

/** Adds the names of the templates. They are configuration, so the contract does not have them (D28). */
function nameTemplates(schemas: Record<string, Schema>, names: string[]): void {
  Object.assign(schemas.QueueCreate?.properties?.template ?? {}, { enum: names });
}

function shareQueuePath(paths: Record<string, object>): Record<string, object> {
  const shared: Record<string, object> = {};
  for (const [path, item] of Object.entries(paths)) {
    const parameter = SHARED_PARAMETER[path];
    if (parameter === undefined) {
      shared[path] = item;
      continue;
    }
    const renamed = Object.entries(item).map(([method, operation]) => [method, rename(operation, parameter)]);
    shared[SHARED_PATH] = { ...shared[SHARED_PATH], ...Object.fromEntries(renamed) };
  }
  return shared;
}

function rename(operation: { parameters: { name: string; in: string }[] }, from: string): object {
  const parameters = operation.parameters.map((parameter) =>
    parameter.in === 'path' && parameter.name === from ? { ...parameter, name: 'queue' } : parameter,
  );
  return { ...operation, parameters };
}
