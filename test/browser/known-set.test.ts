import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Receiver } from '../support/receiver.ts';
import { openReceiver } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';
import { NO_BROWSER } from './no-browser.ts';
import { openPage, useBrowser } from './page.ts';
import { settled } from './screens.ts';
import { says, textOf } from './sentence.ts';
import { type Account, startSmallService } from './small-service.ts';
import type { WatchedPage } from './watched-page.ts';

/**
 * A set of jobs of which everything is known, on every screen: each number of the page is compared with what is known.
 */

const JOBS = { completed: 5, dead: 3, replayed: 1, cancelled: 7, scheduled: 4, retrying: 2, held: 2, awaiting: 1 };
/** Ended attempts: 7 of orders, 2 that are retried, 2 that were put off, 2 reports. */
const ATTEMPTS = 13;
/** By queue: open jobs, the share of its attempts that failed, and dead letters that were not replayed. */
const ROWS: Readonly<Record<string, readonly [open: string, failed: string, dead: string]>> = {
  orders: ['4', '43 %', '2'],
  retried: ['2', '100 %', '0'],
  busy: ['2', '0 %', '0'],
  // The receiver answered all of them with 202: it is the worker that failed one.
  reports: ['1', '50 %', '1'],
  purged: ['0', '–', '0'],
};

describe.skipIf(NO_BROWSER !== null)('a known set of jobs', () => {
  let account: Account;
  let watched: WatchedPage;
  let page: Page;
  let actionId = '';
  useBrowser();
  beforeAll(async () => {
    const service = await startSmallService();
    account = await service.openAccount();
    actionId = await makeSet(account);
  });

  /** Opens a screen, and returns its text below the first line. */
  async function show(path: string, sentence: RegExp): Promise<string> {
    watched = await openPage(account.session);
    page = watched.page;
    await page.goto(path);
    await settled(watched);
    await says(page, sentence);
    return textOf(await page.locator('main').innerText());
  }

  it('is counted in Overview, by queue', async () => {
    const text = await show('/', /^All 5 queues are healthy\./);
    expect(text).toMatch(/\b8 jobs are waiting\./);
    for (const [name, numbers] of Object.entries(ROWS)) {
      const row = page.locator('.queues tr', { has: page.locator(`a.name:text-is("${name}")`) });
      const cell = async (of: string) =>
        textOf(await row.locator(of).innerText()).replace(/ dead letters of .*| open$/, '');
      expect([await cell('td.c2'), await cell('.failed-of'), await cell('.dead-of')], name).toEqual(numbers);
    }
    const deaths = await page.locator('ol.deaths li').allInnerTexts();
    expect(deaths.map((one) => textOf(one)).sort()).toEqual([
      expect.stringMatching(/^1 Receiver answered 404 orders at .+ most recently/),
      expect.stringMatching(/^1 Receiver answered 500 orders at .+ most recently/),
      expect.stringMatching(/^1 Worker refused it: “out of stock” reports at .+ most recently/),
    ]);
  });

  it.each([
    // The deliveries of the last minutes come first.
    ['orders', /^(4 are scheduled, the first at \d|Running: .+ per second from )/, /57 % 2xx/],
    ['retried', /^2 are waiting for a retry, the first at \d/, /0 % 2xx 2 × 5xx/],
    ['busy', /^2 are held, the first until \d/, /0 % 2xx 2 backpressure/],
    ['reports', /^Running: (1 is waiting for a report\.$|.+ per second from )/, /1 of 3 slots/],
    ['purged', /^(Idle|Running)[.:] [Nn]o job is waiting\.$/, /Answers, last hour None no attempt ended/],
  ])('is counted on the page of the queue %s', async (name, sentence, fact) => {
    expect(await show(`/queues/${name}`, sentence)).toMatch(fact);
  });

  it('is counted in Jobs, with what was cancelled or replayed apart from what died', async () => {
    await show('/jobs', /^25 jobs: /);
    const said = textOf(await page.locator('h1').innerText());
    const numbers = said.replace(/^.*?: |\.$/g, '').split(', ');
    expect(numbers.sort()).toEqual(
      [
        `${JOBS.awaiting} awaits an ack`,
        `${JOBS.held} are held`,
        `${JOBS.retrying} retry`,
        `${JOBS.dead} are dead`,
        `${JOBS.replayed} was replayed`,
        `${JOBS.scheduled} are scheduled`,
        `${JOBS.completed} are completed`,
        `${JOBS.cancelled} were cancelled`,
      ].sort(),
    );
    await page.goto('/jobs?q=state%3Adead');
    await says(page, /^11 jobs match: 1 was replayed, 3 are dead, 7 were cancelled\.$/);
  });

  it('has the outcome of a replay in the row and on the page of the replayed job', async () => {
    await show('/jobs?q=replayed%3Ayes', /^1 job matches, and was replayed\.$/);
    const row = page.locator('.jobs-table tbody tr');
    expect(textOf(await row.innerText())).toMatch(/ Dead, replayed .* replayed, completed at [\d:]+ · 500, 1 attempt/);
    await page.goto((await row.locator('a.rowlink').getAttribute('href')) ?? '');
    await page
      .locator('.job-note')
      .getByText(/^Replayed at .+; the replay ….{5} completed at /)
      .waitFor();
  });

  it('is counted in Dead letters, without what was replayed, and with what was dismissed apart', async () => {
    await show('/dead', /^2 dead jobs have not been replayed\. One of 2 causes .*1 more is dismissed\.$/);
    const titles = await page.locator('ol.causes li').allInnerTexts();
    expect(titles.map((title) => textOf(title).slice(0, 30)).sort()).toEqual([
      '1 dead letters Receiver answer',
      '1 dead letters Worker refused ',
    ]);
    await page
      .locator('ol.causes li', { hasText: 'Receiver answered 500' })
      .getByRole('button', { name: /Replay/ })
      .click();
    const dialog = page.getByRole('dialog', { name: 'Replay 1 job in orders?' });
    // It counts again before it asks.
    await expect
      .poll(async () => textOf(await dialog.innerText()))
      .toMatch(/job sent again 1 .*skipped: replayed before 1 .*7 attempts ended in the last hour/);
  });

  it.each([
    ['/jobs/attempts', /^13 attempts match\./, /./],
    ['/jobs/attempts?queue=orders&code=5xx', /^2 attempts match\./, /./],
    ['/actions', /^No action is running\. The last one, the purge of purged, ended at/, /\b5\b/],
    ['/alerts', /^No alert rules yet\.$/, /./],
    [
      '/settings/plan',
      /^(under )?0(\.1)? % of \w+’s attempts used\.$/,
      new RegExp(`Attempts ${ATTEMPTS + JOBS.awaiting} of`),
    ],
  ])('is counted at %s', async (path, sentence, numbers) => {
    expect(await show(path, sentence)).toMatch(numbers);
  });

  it('is counted on the page of the purge', async () => {
    expect(await show(`/actions/${actionId}`, /^Done: 5 jobs were cancelled\.$/)).toMatch(
      /cancelled 5 skipped 0 not processed 0/,
    );
  });
});

/** @returns the id of the purge */
async function makeSet({ createQueue, operate, graphql, publishUntil, letDie }: Account): Promise<string> {
  let isMended = false;
  const receiver: Receiver = await openReceiver((request) => {
    const { status } = request.json().payload as { status: number };
    return isMended ? {} : { status, headers: status === 429 ? { 'retry-after': 1800 } : {} };
  });
  const payload = (status: number) => `{"status":${status}}`;
  await createQueue('orders', receiver, { maxAttempts: 1 });
  await createQueue('retried', receiver, { maxAttempts: 5, backoffDelay: 3600 });
  await createQueue('busy', receiver);
  await createQueue('reports', receiver, { mode: 'ACK', concurrency: 3 });
  const purged = await createQueue('purged', receiver);

  for (let n = 0; n < 3; n += 1) await publishUntil('COMPLETED', 'orders', payload(200));
  await letDie('orders', [500, 500, 404].map(payload));
  const later = await operate.publish(
    'orders',
    Array.from({ length: 6 }, () => payload(200)),
    3600,
  );
  for (const id of later.slice(0, 2)) await operate.change('cancelJob', id);
  await operate.publish('retried', [500, 500].map(payload));
  await operate.publish('busy', [429, 429].map(payload));
  const [acked = '', nacked = ''] = await Promise.all(
    [0, 1, 2].map(() => publishUntil('AWAITING_ACK', 'reports', payload(202))),
  );
  await operate.change('ackJob', acked);
  await operate.nack(nacked, 'out of stock');
  await operate.publish(
    'purged',
    Array.from({ length: 5 }, () => payload(200)),
    3600,
  );
  const { purgeQueue } = await graphql.query(
    'mutation ($id: ID!) { purgeQueue(id: $id) { ... on PurgeQueuePayload { action { id } } } }',
    { id: purged },
  );

  const { deadLetters } = await graphql.query('{ deadLetters(first: 9) { nodes { id webhookStatusCode } } }');
  const letters: { id: string; webhookStatusCode: number | null }[] = deadLetters.nodes;
  isMended = true;
  await operate.change(
    'replayDeadLetter',
    letters.find(({ webhookStatusCode }) => webhookStatusCode === 500)?.id ?? '',
  );
  const groups = async () => (await graphql.query('{ errorGroups { fingerprint webhookStatusCode } }')).errorGroups;
  const cause = (await groups()).find((one: { webhookStatusCode: number }) => one.webhookStatusCode === 404);
  await graphql.query('mutation ($of: String!) { dismissErrorGroup(fingerprint: $of) { __typename } }', {
    of: cause.fingerprint,
  });
  const counts = async () => {
    const { a, b } = await graphql.query(
      '{ a: count(filter: { states: [COMPLETED, RETRYING, HELD] }) { count } b: attempts(first: 1) { totalCount } }',
    );
    return a.count === 9 && b.totalCount === ATTEMPTS;
  };
  await waitFor(counts, { message: 'the set' });
  return purgeQueue.action.id;
}
