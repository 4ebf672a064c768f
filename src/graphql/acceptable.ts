import type { FetchAPI, Plugin } from 'graphql-yoga';
import type { GraphQLContext } from './context.ts';

const EVENTS = 'text/event-stream';
const DOCUMENTS = ['application/graphql-response+json', 'application/json'];
/** Yoga sends a result in parts to a client that accepts nothing else. */
const PARTS = 'multipart/mixed';

/**
 * Refuses an operation before it runs if the client accepts no format of its answer. Yoga alone would run the
 * operation, even a mutation, and then send a 406 without a body.
 */
export function acceptable(): Plugin<GraphQLContext, { requestId: string }> {
  const refused = new WeakSet<Request>();
  return {
    onRequest({ request, endResponse, fetchAPI, serverContext: { requestId } }) {
      if (accepts(request, [...DOCUMENTS, PARTS, EVENTS])) return;
      const message = `the accept header must allow application/json, or ${EVENTS} for a subscription`;
      endResponse(notAcceptable(fetchAPI, message, requestId));
    },
    onSubscribe({ args: { contextValue }, setResultAndStopExecution }) {
      if (accepts(contextValue.request, [EVENTS])) return;
      refused.add(contextValue.request);
      setResultAndStopExecution({});
    },
    onResultProcess({ request, setResultProcessor, serverContext: { requestId } }) {
      if (!refused.has(request)) return;
      const processor = (_: unknown, fetchAPI: FetchAPI) =>
        notAcceptable(fetchAPI, `for a subscription, the accept header must allow ${EVENTS}`, requestId);
      setResultProcessor(processor, 'application/json');
    },
  };
}

/** Whether the client accepts events and no document. */
export function wantsEvents(request: Request): boolean {
  return accepts(request, [EVENTS]) && !accepts(request, DOCUMENTS);
}

/** Returns a 406 in JSON, whatever the client accepts: an error in an unexpected format is better than none. */
function notAcceptable(fetchAPI: FetchAPI, message: string, requestId: string): Response {
  const body = JSON.stringify({ errors: [{ message, extensions: { code: 'NOT_ACCEPTABLE', requestId } }] });
  const headers = { 'content-type': 'application/json; charset=utf-8' };
  return new fetchAPI.Response(body, { status: 406, headers });
}

/**
 * Reads the header as Yoga does: only UTF-8 is acceptable, and of the weights only 0, which refuses a type, matters.
 */
function accepts({ headers }: Request, types: readonly string[]): boolean {
  const ranges = (headers.get('accept') || '*/*').replace(/\s/g, '').toLowerCase().split(',');
  return ranges.some((range) => {
    const [accepted = '', ...parameters] = range.split(';');
    if (parameters.some((parameter) => parameter.startsWith('charset=') && parameter !== 'charset=utf-8')) return false;
    if (parameters.some((parameter) => /^q=0(?:\.0{0,3})?$/.test(parameter))) return false;
    return types.some((type) => accepted === '*/*' || accepted === type || accepted === `${type.split('/')[0]}/*`);
  });
}
