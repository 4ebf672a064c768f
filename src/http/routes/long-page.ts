import { Readable } from 'node:stream';
import type { Response } from 'express';
import type { z } from 'zod';
import { writeJson } from '../../contract/index.ts';
import type { Page } from '../../services/pages.ts';
import type { Log } from '../errors.ts';
import { accountOf } from '../guards/authentication.ts';
import { holderOfKey, secondCheck } from '../guards/second-check.ts';
import { requestIdOf } from '../server/request-id.ts';
import type { RestServices } from './rest-services.ts';

interface PageParts {
  /** Schema of the whole body; the entries of a stream are checked with it too. */
  schema: z.ZodTypeAny;
  log: Log;
  services: Pick<RestServices, 'accounts'>;
}

/**
 * Returns the body of a list: the page itself or, if the service reads the page in slices, a stream of the same JSON.
 * The stream reads the next slice when the client has read the previous one, so a client that does not read costs the
 * memory of one slice, not of the page.
 */
export function pageBody<T, P extends Page<T>>(res: Response, page: P, { schema, log, services }: PageParts): P {
  const { rest } = page;
  if (rest === undefined) return page;
  // A client may read for minutes, and no slice may reach a key that is revoked meanwhile (I-45).
  const assertKnown = async () => {
    const standing = await secondCheck(holderOfKey(services, res.req), 'read');
    if (standing === 'ended') throw new Error('the API key has been revoked');
    if (standing === 'unknown') throw new Error('the API key could not be checked again');
  };
  const stream = Readable.from(pieces(schema, page, rest, assertKnown), { objectMode: true, highWaterMark: 1 });
  // The status is already sent, so the connection is closed and the client sees an incomplete answer.
  stream.on('error', (err) => {
    const { method, originalUrl: url } = res.req;
    log.error(
      { err, method, url, accountId: accountOf(res).id, requestId: requestIdOf(res) },
      'reading a list failed after a part was sent: the answer was cut off',
    );
    res.destroy();
  });
  res.on('close', () => stream.destroy());
  res.setHeader('content-type', 'application/json; charset=utf-8');
  // ts-rest pipes a stream unchanged.
  return stream as unknown as P;
}

const HEAD = '{"jobs":[';

async function* pieces<T>(
  schema: z.ZodTypeAny,
  page: Page<T>,
  rest: AsyncIterable<T[]>,
  assertKnown: () => Promise<void>,
): AsyncGenerator<string> {
  const write = (jobs: T[]): string => writeJson(schema.parse({ ...page, jobs }));
  const empty = write([]);
  const tail = empty.slice(HEAD.length);
  const entriesOf = (jobs: T[]): string => write(jobs).slice(HEAD.length, -tail.length);
  if (!empty.startsWith(HEAD)) throw new Error('the JSON of a page must begin with its entries');
  yield HEAD;
  let separator = '';
  const slice = (jobs: T[]): string => {
    if (jobs.length === 0) return '';
    const text = separator + entriesOf(jobs);
    separator = ',';
    return text;
  };
  await assertKnown();
  yield slice(page.jobs);
  for await (const jobs of rest) {
    await assertKnown();
    yield slice(jobs);
  }
  yield tail;
}
