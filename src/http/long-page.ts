import { Readable } from 'node:stream';
import type { Response } from 'express';
import type { z } from 'zod';
import { writeJson } from '../contract/index.ts';
import type { Page } from '../services/pages.ts';
import { accountOf } from './authentication.ts';
import type { Log } from './errors.ts';

/**
 * The body of a list: the page itself, or, when the service reads it bit by bit, a stream of the same JSON, which reads
 * on when the client has taken what it was sent. So a client that does not read costs a slice of the page, and not all.
 * @param schema of the whole body; entries of a stream are checked by it as well
 */
export function pageBody<T, P extends Page<T>>(res: Response, log: Log, schema: z.ZodTypeAny, page: P): P {
  const { rest } = page;
  if (rest === undefined) return page;
  const stream = Readable.from(pieces(schema, page, rest), { objectMode: true, highWaterMark: 1 });
  // The status is sent by then: a client sees that the answer is cut off.
  stream.on('error', (err) => {
    const { method, originalUrl: url } = res.req;
    log.error({ err, method, url, accountId: accountOf(res).id }, 'a list was cut off in the middle of its answer');
    res.destroy();
  });
  res.on('close', () => stream.destroy());
  res.setHeader('content-type', 'application/json; charset=utf-8');
  // What serves the contract pipes a stream as it is.
  return stream as unknown as P;
}

const HEAD = '{"jobs":[';

async function* pieces<T>(schema: z.ZodTypeAny, page: Page<T>, rest: AsyncIterable<T[]>): AsyncGenerator<string> {
  const write = (jobs: T[]): string => writeJson(schema.parse({ ...page, jobs }));
  const empty = write([]);
  const tail = empty.slice(HEAD.length);
  const entriesOf = (jobs: T[]): string => write(jobs).slice(HEAD.length, -tail.length);
  if (!empty.startsWith(HEAD)) throw new Error('a page begins with its entries');
  yield HEAD;
  let separator = '';
  const slice = (jobs: T[]): string => {
    if (jobs.length === 0) return '';
    const text = separator + entriesOf(jobs);
    separator = ',';
    return text;
  };
  yield slice(page.jobs);
  for await (const jobs of rest) yield slice(jobs);
  yield tail;
}
