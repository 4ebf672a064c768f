import type { FetchAPI, Plugin } from 'graphql-yoga';
import type { GraphQLContext } from './context.ts';

const EVENTS = 'text/event-stream';
const DOCUMENTS = ['application/graphql-response+json', 'application/json'];
/** Yoga sends a result in parts when a client accepts nothing else. */
const PARTS = 'multipart/mixed';

/**
 * Refuses what could not be answered in a form that the client accepts, before it runs. Yoga runs it first, changes
 * included, and then sends a 406 without a body.
 */
export function acceptable(): Plugin<GraphQLContext> {
  const refused = new WeakSet<Request>();
  return {
    onRequest({ request, endResponse, fetchAPI }) {
      if (accepts(request, [...DOCUMENTS, PARTS, EVENTS])) return;
      endResponse(notAcceptable(fetchAPI, `accept must allow application/json, or ${EVENTS} for a subscription`));
    },
    onSubscribe({ args: { contextValue }, setResultAndStopExecution }) {
      if (accepts(contextValue.request, [EVENTS])) return;
      refused.add(contextValue.request);
      setResultAndStopExecution({});
    },
    onResultProcess({ request, setResultProcessor }) {
      if (!refused.has(request)) return;
      const processor = (_: unknown, fetchAPI: FetchAPI) =>
        notAcceptable(fetchAPI, `a subscription needs accept: ${EVENTS}`);
      setResultProcessor(processor, 'application/json');
    },
  };
}

/** Events, and no document. */
export function wantsEvents(request: Request): boolean {
  return accepts(request, [EVENTS]) && !accepts(request, DOCUMENTS);
}

/** In JSON, whatever the client accepts: an error that it can show is better than none. */
function notAcceptable(fetchAPI: FetchAPI, message: string): Response {
  const body = JSON.stringify({ errors: [{ message, extensions: { code: 'NOT_ACCEPTABLE' } }] });
  const headers = { 'content-type': 'application/json; charset=utf-8' };
  return new fetchAPI.Response(body, { status: 406, headers });
}

/** As Yoga reads the header: in UTF-8 only, and by weight only what is refused by a weight of 0. */
function accepts({ headers }: Request, types: readonly string[]): boolean {
  const ranges = (headers.get('accept') || '*/*').replace(/\s/g, '').toLowerCase().split(',');
  return ranges.some((range) => {
    const [asked = '', ...parameters] = range.split(';');
    if (parameters.some((parameter) => parameter.startsWith('charset=') && parameter !== 'charset=utf-8')) return false;
    if (parameters.some((parameter) => /^q=0(?:\.0{0,3})?$/.test(parameter))) return false;
    return types.some((type) => asked === '*/*' || asked === type || asked === `${type.split('/')[0]}/*`);
  });
}
