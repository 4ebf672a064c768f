import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { openReceiver } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';
import { NO_BROWSER } from './no-browser.ts';
import { openPage, useBrowser } from './page.ts';
import { settled } from './screens.ts';
import { says, textOf } from './sentence.ts';
import { type Account, type SmallService, startSmallService } from './small-service.ts';

/** Bulk actions: what has one done so far, and can it be stopped? */

/** At one a second they take longer than any look at the page, on a busy machine too. */
const LETTERS = 90;

describe.skipIf(NO_BROWSER !== null)('the bulk actions', () => {
  let service: SmallService;
  useBrowser();
  beforeAll(async () => {
    service = await startSmallService();
  });

  it('go on over a reload, are stopped by a key, and their numbers add up', async () => {
    const { account, queueId } = await openWithLetters(LETTERS);
    const id = await account.operate.replayAll(queueId, 1);
    const page = await showActions(account);
    await says(page, /^The replay of orders is running\. /);
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/actions/${id}`);
    const first = done(await says(page, /^\d+ of 90 dead letters are replayed\. About .+ to go\.$/));
    await waitFor(async () => done(await says(page, /^\d+ of 90/)) > first, {
      message: 'progress without a reload',
    });
    const before = done(await says(page, /^\d+ of 90/));
    await page.reload();
    expect(done(await says(page, /^\d+ of 90 dead letters are replayed\./))).toBeGreaterThanOrEqual(before);

    // The key is offered with the button, to those who may stop it.
    await page.getByRole('button', { name: 'Stop…' }).waitFor();
    await page.keyboard.press('c');
    const question = page.getByRole('dialog', { name: /^Stop after \d+ of 90 dead letters\?$/ });
    await question.getByRole('button', { name: 'Stop', exact: true }).click();
    const stopped = await says(page, /^Stopped by jf_.+ after \d+ of 90 dead letters\.$/);
    const { bulkAction } = await account.graphql.query(
      'query ($id: ID!) { bulkAction(id: $id) { status processed succeeded skipped } }',
      { id },
    );
    expect(bulkAction).toEqual({
      status: 'CANCELLED',
      processed: done(stopped, /after (\d+)/),
      succeeded: expect.any(Number),
      skipped: 0,
    });
    const figures = await legend(page);
    expect(figures).toEqual({
      replayed: bulkAction.succeeded,
      skipped: 0,
      'not processed': LETTERS - bulkAction.processed,
    });
    await page.reload();
    expect(await says(page, /^Stopped by/)).toBe(stopped);
    expect(await legend(page)).toEqual(figures);
    await page.keyboard.press('Escape');
    await page.waitForURL('**/actions');
  });

  it('say how many they skipped', async () => {
    const { account, queueId } = await openWithLetters(6);
    const { deadLetters } = await account.graphql.query('{ deadLetters(first: 50) { nodes { id } } }');
    const id = await account.operate.replayAll(queueId, 1);
    const change = (name: string) => account.graphql.query(`mutation { ${name}(id: "${id}") { __typename } }`);
    await change('pauseBulkAction');
    // The newest comes last.
    await account.operate.change('replayDeadLetter', deadLetters.nodes[0].id);
    await change('resumeBulkAction');
    const watched = await openPage(account.session);
    await watched.page.goto(`/actions/${id}`);
    await says(watched.page, /^Done: 5 dead letters were replayed, 1 skipped\.$/);
    expect(await legend(watched.page)).toEqual({ replayed: 5, skipped: 1, 'not processed': 0 });
    await watched.page.getByText('replayed or removed meanwhile').waitFor();
  });

  it('say what becomes of their jobs, and judge the receiver since its last failure', async () => {
    const { account, queueId } = await openWithLetters(12, { maxAttempts: 2, backoffDelay: 1 });
    await account.operate.change('pauseQueue', queueId);
    const id = await account.operate.replayAll(queueId, 1000);
    const { page } = await openPage(account.session);
    await page.goto(`/actions/${id}`);
    await says(page, /^Done: 12 dead letters were replayed\./);
    const jobs = (completed: number, waiting: number) => ({ completed, dead: 0, 'in progress': 0, waiting });
    await expect.poll(() => legend(page, 'Outcome of the jobs')).toEqual(jobs(0, 12));
    await page.getByRole('button', { name: 'Resume queue orders' }).click();
    await expect.poll(() => legend(page, 'Outcome of the jobs')).toEqual(jobs(12, 0));
    // Two thirds of the hour's attempts failed, and none since the repair.
    await page.getByText('all 12 attempts since the last failure succeeded').waitFor();
    await page.getByRole('link', { name: 'completed' }).click();
    await says(page, /^12 jobs match, and all are completed\.$/);
  });

  it('are explained where there was none, and where there is none with an id', async () => {
    const page = await showActions(await service.openAccount());
    await page.getByText('No actions yet').waitFor();
    await page.goto(`/actions/${'0'.repeat(24)}`);
    await says(page, /^No action has this id\.$/);
  });

  async function openWithLetters(
    count: number,
    settings: { maxAttempts: number; backoffDelay?: number } = { maxAttempts: 1 },
  ) {
    const account = await service.openAccount();
    const receiver = await openReceiver({ status: 500 });
    const queueId = await account.createQueue('orders', receiver, settings);
    await account.letDie(
      'orders',
      Array.from({ length: count }, (_, n) => `{"n":${n}}`),
    );
    receiver.respondWith({});
    return { account, queueId };
  }

  async function showActions(account: Account): Promise<Page> {
    const watched = await openPage(account.session);
    await watched.page.goto('/actions');
    await settled(watched);
    return watched.page;
  }
});

const done = (sentence: string, number = /^(\d+)/) => Number(number.exec(sentence)?.[1]);

/** The numbers below the bar, by their words. */
async function legend(page: Page, of = 'Progress'): Promise<Record<string, number>> {
  const texts = await page.getByRole('region', { name: of }).locator('.legend > span:not(.end)').allInnerTexts();
  return Object.fromEntries(
    texts.map((text) => {
      const [, word = '', number] = /^(.*?) (\d+)$/.exec(textOf(text)) ?? [];
      return [word, Number(number)];
    }),
  );
}
