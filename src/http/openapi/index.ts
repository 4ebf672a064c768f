import { generateOpenApi } from '@ts-rest/open-api';
import { contract } from '../../contract/index.ts';
import { toJsonSchema } from './dialect.ts';
import { completeOperation } from './operation.ts';
import { deliveryWebhook, envelopeSchema } from './webhook.ts';

/** The parts of the configuration that clients and receivers see. */
export interface OpenApiOptions {
  signatureHeader: string;
  templates: Readonly<Record<string, unknown>>;
}

/** A JSON value; nothing in here reads it again but tests. */
type OpenApiDocument = Record<string, unknown>;

const DESCRIPTION = `A job queue that delivers to webhooks. Publish a JSON object to a queue; Jobferry keeps it and posts it to the
queue's \`webhookUrl\`, signed, with retries, limits, backpressure, dead letters and a history of every attempt.

**Authentication.** Every operation needs \`Authorization: Bearer <API key>\`.

**Bodies** are JSON in UTF-8. Unknown fields are ignored. Durations are seconds, with decimals where the type is
\`number\`. Times in answers are UTC with milliseconds.

**Errors** are JSON too, and so are those that are named in no operation: 404 for unknown paths and methods, and 400,
408, 417 and 431 for requests that are no proper HTTP, take too long to arrive, expect too much or have too large a head.

**Retention.** Jobs, their history and their dead letters are removed 72 hours after the publish.`;

const TAGS = [
  { name: 'Queues', description: 'Where jobs go, and how they are delivered.' },
  { name: 'Jobs', description: 'Publish, look, and report in ack mode.' },
  { name: 'Dead letters', description: 'What became of jobs that died, and how to send them again.' },
];

/**
 * OpenAPI knows no two paths that differ in the names of their parameters only, and the contract has
 * such a pair: its publish names a queue by name and its job list by id. In the document they are one
 * path; each operation says what its parameter is.
 */
const SHARED_PATH = '/v1/queues/{queue}/jobs';
const SHARED_PARAMETER: Readonly<Record<string, string>> = {
  '/v1/queues/{queueName}/jobs': 'queueName',
  '/v1/queues/{id}/jobs': 'id',
};

/** The contract as an OpenAPI document: what is on the wire, for people and for generators. */
export function openApiDocument({ signatureHeader, templates }: OpenApiOptions): OpenApiDocument {
  const { paths, components, ...head } = generateOpenApi(
    contract,
    {
      info: {
        title: 'Jobferry',
        version: '0.0.1',
        description: DESCRIPTION,
        license: { name: 'MIT', identifier: 'MIT' } as { name: string },
      },
      servers: [{ url: '/', description: 'The server that this document comes from.' }],
      tags: TAGS,
      components: {
        securitySchemes: { apiKey: { type: 'http', scheme: 'bearer', description: 'An API key of the account.' } },
        headers: {
          'WWW-Authenticate': {
            description: 'Always `Bearer`.',
            required: true,
            schema: { const: 'Bearer' } as object,
          },
          'Retry-After': { description: 'Seconds.', required: true, schema: { type: 'integer', minimum: 0 } },
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

/** Their names are configuration, which the contract does not know (D28). */
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
