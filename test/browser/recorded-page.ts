import type { Request } from 'playwright-core';
import { waitFor } from '../support/wait-for.ts';
import { openPage, type Session } from './page.ts';
import { settled } from './screens.ts';

/** The requests of an open page, so that they can be sent again without the browser that draws the page. */
export interface RecordedPage {
  /** The subscription that it holds. */
  stream: string;
  /** The queries of one period, with the milliseconds from the start of the period. */
  queries: { atMs: number; body: string }[];
  periodMs: number;
}

/**
 * The query that the shell of every page repeats, and that is repeated most seldom: one period lies between two of it.
 */
const SELDOM = 'query Shell';

/** Records what a real page asks once it has shown its rows. */
export async function recordPage(session: Session, path: string): Promise<RecordedPage> {
  const page = await openPage(session);
  const seen: { at: number; body: string }[] = [];
  page.page.on('request', (request: Request) => {
    const body = request.postData();
    if (body !== null && request.url().endsWith('/graphql')) seen.push({ at: performance.now(), body });
  });
  await page.page.goto(path);
  await settled(page);
  const shells = () => seen.filter(({ body }) => body.includes(SELDOM)).map(({ at }) => at);
  // The first one is part of the opening.
  await waitFor(() => shells().length >= 3, { timeoutMs: 90_000 });
  const [, from = 0, to = 0] = shells();
  const stream = seen.findLast(({ body }) => body.includes('subscription '))?.body;
  if (stream === undefined) throw new Error('the page has opened no stream');
  await page.page.context().close();
  const queries = seen.filter(({ at, body }) => at >= from && at < to && !body.includes('subscription '));
  return { stream, queries: queries.map(({ at, body }) => ({ atMs: at - from, body })), periodMs: to - from };
}

/** Asks what the page asked, at the same pace, until it is closed. Fails as soon as an answer is an error. */
export function replayPage({ url, cookie }: Session, { stream, queries, periodMs }: RecordedPage) {
  const closing = new AbortController();
  const timers = new Set<NodeJS.Timeout>();
  let failure: unknown = null;
  const ask = (body: string, accept: string) =>
    fetch(new URL('graphql', url), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept,
        'jobferry-dashboard': '1',
        cookie: `${cookie?.name}=${cookie?.value}`,
      },
      body,
      signal: closing.signal,
    });
  const unless = (error: unknown) => {
    if (!closing.signal.aborted) failure ??= error;
  };
  const follow = async () => {
    const { ok, status, body } = await ask(stream, 'text/event-stream');
    if (!ok) throw new Error(`the stream was refused with ${status}`);
    for await (const _ of body ?? []);
  };
  const query = async (body: string) => {
    const answer = await (await ask(body, 'application/json')).text();
    if (!answer.startsWith('{"data":{')) throw new Error(answer);
  };
  follow().catch(unless);
  // Pages are opened at different times.
  const phaseMs = Math.random() * periodMs;
  for (const { atMs, body } of queries) {
    const again = () => {
      query(body).catch(unless);
      timers.add(setTimeout(again, periodMs));
    };
    timers.add(setTimeout(again, (atMs + phaseMs) % periodMs));
  }
  return {
    close(): void {
      closing.abort();
      for (const timer of timers) clearTimeout(timer);
      if (failure !== null) throw failure;
    },
  };
}
