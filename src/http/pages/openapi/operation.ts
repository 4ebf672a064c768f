import type { generateOpenApi } from '@ts-rest/open-api';
import type { BodyRule, RouteMetadata } from '../../../contract/index.ts';
import { COMMON_ANSWERS, EXAMPLES, type OperationId } from './examples.ts';

type Mapper = NonNullable<NonNullable<Parameters<typeof generateOpenApi>[2]>['operationMapper']>;
type Operation = Parameters<Mapper>[0];

/** Tags by the contract's routers. */
const TAG_OF: Readonly<Record<string, string>> = { queues: 'Queues', jobs: 'Jobs', deadLetters: 'Dead letters' };

/** Headers of answers by status. They are defined once in `components`. */
const HEADERS: Readonly<Record<string, object>> = {
  401: { 'WWW-Authenticate': { $ref: '#/components/headers/WWW-Authenticate' } },
  429: { 'Retry-After': { $ref: '#/components/headers/Retry-After' } },
  503: { 'Retry-After': { $ref: '#/components/headers/Retry-After' } },
};

/**
 * Adds tags, security, examples and headers to a generated operation, and removes answers that the route never sends.
 */
export const completeOperation: Mapper = (operation, route) => {
  const id = operation.operationId as OperationId;
  const metadata = route.metadata as RouteMetadata | undefined;
  const { requestBody, responses, ...rest } = operation;
  return {
    ...rest,
    tags: (operation.tags ?? []).map((router) => TAG_OF[router] ?? router),
    security: [{ apiKey: [] }],
    ...(requestBody === undefined ? {} : { requestBody: completeBody(id, requestBody, metadata) }),
    responses: Object.fromEntries(
      Object.entries(responses as Record<string, Answer>)
        .filter(([status]) => mayAnswer(Number(status), metadata))
        .map(([status, response]) => [status, completeAnswer(id, status, response)]),
    ),
  };
};

interface Answer {
  description: string;
  content?: Record<string, object>;
}

const TAKES_ANY_TYPE: ReadonlySet<BodyRule> = new Set(['lenient', 'ignored']);

/**
 * A route that reads no body never refuses one. A route that discards the body limits its size and accepts any type.
 */
function mayAnswer(status: number, metadata: RouteMetadata | undefined): boolean {
  if (status === 413) return metadata !== undefined;
  if (status === 415) return metadata !== undefined && !TAKES_ANY_TYPE.has(metadata.body);
  return true;
}

function completeBody(id: OperationId, body: NonNullable<Operation['requestBody']>, metadata?: RouteMetadata) {
  const { content } = body as { content: Record<string, object> };
  const examples = Object.entries(EXAMPLES[id].request ?? {}).map(([summary, value]) => [
    summary.toLowerCase().replace(/[^a-z]+/g, '-'),
    { summary, value },
  ]);
  return {
    required: metadata?.body !== 'optional' && metadata?.body !== 'lenient',
    content: { 'application/json': { ...content['application/json'], examples: Object.fromEntries(examples) } },
  };
}

function completeAnswer(id: OperationId, status: string, { description, content }: Answer): Answer {
  const headers = HEADERS[status];
  const shared = { description, ...(headers === undefined ? {} : { headers }) };
  if (content === undefined) return { ...shared, description: 'The request succeeded. The answer has no body.' };
  const example = EXAMPLES[id].answers[Number(status)] ?? COMMON_ANSWERS[Number(status)];
  return { ...shared, content: { 'application/json': { ...content['application/json'], example } } };
}
