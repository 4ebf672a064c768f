import { beforeAll, describe, expect, it } from 'vitest';
import { NO_BROWSER } from './no-browser.ts';
import { openPage, useBrowser } from './page.ts';
import { settled, showScreen } from './screens.ts';
import { type SeededService, seedService } from './seed.ts';

/** Actions from the dashboard, on one job or cause or on many. */

describe.skipIf(NO_BROWSER !== null)('the dashboard', () => {
  let service: SeededService;
  useBrowser();
  beforeAll(async () => {
    service = await seedService();
  });

  const open = async (path: string) => {
    const watched = await openPage(service.session);
    await watched.page.goto(path);
    await settled(watched);
    return watched;
  };

  // Actions without a question before them, as they can be undone or change nothing.
  it('an action is paused and resumed by a key', async () => {
    const watched = await openPage(service.session);
    await showScreen(watched, 'action', service);
    const { page } = watched;
    await page.keyboard.press('p');
    await page.getByRole('heading', { level: 1, name: /^Paused by .+ after .+ of/ }).waitFor();
    await page.getByRole('button', { name: /^Resume( p)?$/ }).waitFor();
    await page.reload();
    await settled(watched);
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toMatch(/^Paused by/);
    await page.keyboard.press('p');
    await page.getByRole('button', { name: /^Pause( p)?$/ }).waitFor();
  });

  it('a cause of dead letters is dismissed, found again and restored', async () => {
    const watched = await openPage(service.session);
    await showScreen(watched, 'dead-letters', service);
    const { page } = watched;
    const causes = page.locator('.causes > li');
    const before = await causes.count();
    const title = (await causes.first().getByRole('link').first().textContent()) ?? '';
    await page.keyboard.press('d');
    await page.getByText('Choose a row first, with j and k').waitFor();
    await causes.first().getByRole('button', { name: 'Dismiss' }).click();
    // It is a cause in each of the queues in which jobs died of it, so the page asks first.
    const question = page.getByRole('dialog', { name: 'Dismiss this cause in all queues?' });
    await question.waitFor();
    const ids = await page.evaluate(() => Array.from(document.querySelectorAll('[id]'), ({ id }) => id));
    expect(ids.filter((id, n) => ids.indexOf(id) !== n)).toEqual([]);
    await question.getByRole('button', { name: 'Dismiss in all queues' }).click();
    await page.getByText('Dismissed until it occurs again').waitFor();
    await expect.poll(() => causes.count()).toBeLessThan(before);
    const hidden = before - (await causes.count());
    // The row that had the focus is gone; the next one has it.
    expect(await causes.locator('.rowlink:focus').count()).toBe(1);
    await page.getByRole('link', { name: 'Dismissed', exact: true }).click();
    await page
      .getByRole('heading', { level: 1, name: / dismissed\. (It|Each) returns when another job dies of it\.$/ })
      .waitFor();
    await expect.poll(() => causes.count()).toBe(hidden);
    expect(await causes.getByRole('link').allTextContents()).toContain(title);
    await causes.first().getByRole('button', { name: 'Restore' }).click();
    await page.getByRole('heading', { level: 1, name: /^No dismissed causes are left/ }).waitFor();
    await page.getByRole('link', { name: 'By cause' }).click();
    await expect.poll(() => causes.count()).toBe(before);
  });

  it('a receiver is checked from the menu of its queue', async () => {
    const watched = await openPage(service.session);
    await showScreen(watched, 'queue', service);
    const { page } = watched;
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByRole('button', { name: 'Check the receiver' }).click();
    await page
      .getByRole('status')
      .getByText(/signature/)
      .waitFor();
  });

  it('a receiver is tested, and its flaws are named with what to change', async () => {
    const watched = await openPage(service.session);
    await showScreen(watched, 'queue', service);
    const { page } = watched;
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByRole('button', { name: 'Test the receiver…' }).click();
    const question = page.getByRole('dialog', { name: /^Test the receiver of .+\?$/ });
    await question.getByRole('button', { name: 'Start the test' }).click();
    const verdict = page.getByRole('dialog', { name: /tests? failed$/ });
    await verdict
      .getByRole('listitem')
      .filter({ hasText: /^Failed/ })
      .first()
      .waitFor();
    await verdict.getByRole('button', { name: 'Close' }).click();
    await verdict.waitFor({ state: 'detached' });
  });

  // Many jobs at once: what is asked before, what is done, and the lists that lead to them.
  it('many jobs are run now if they match, after their number was shown', async () => {
    const jobs = [1, 2].map((n) => ({ queue: 'audit-trail', job: { payloadText: `{"run":${n}}`, delay: 3600 } }));
    await service.graphql.query('mutation ($jobs: [PublishJobsInput!]!) { publishJobs(jobs: $jobs) { __typename } }', {
      jobs,
    });
    const { page } = await open(`/jobs?q=${encodeURIComponent('queue:audit-trail state:scheduled payload.run:1,2')}`);
    await page.getByRole('heading', { level: 1, name: /^2 jobs match, and all are scheduled\.$/ }).waitFor();
    await page.keyboard.press('a');
    // No job is dead, so there is nothing to replay.
    expect(await page.getByRole('button', { name: 'Replay all…' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Run all now…' }).click();
    const question = page.getByRole('dialog', { name: 'Run 2 jobs now?' });
    await question.getByRole('button', { name: 'Run 2 now', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: /^Done: 2 jobs were made due\.$/ }).waitFor();
    await page.getByRole('link', { name: 'Its jobs' }).click();
    await page.getByRole('heading', { level: 1, name: /^2 jobs match/ }).waitFor();
  });

  it('many jobs are replayed by the filter of jobs, of all their queues in one action', async () => {
    const filter = 'state:dead queue:crm-sync,emails';
    const { page } = await open(`/jobs?q=${encodeURIComponent(filter)}`);
    await page.keyboard.press('a');
    await page.getByRole('button', { name: 'Replay all…' }).click();
    const question = page.getByRole('dialog', { name: /^Replay .+ jobs\?$/ });
    await question
      .getByText(/queues|receiver/)
      .first()
      .waitFor();
    await question.getByText('As fast as limits allow').click();
    await question.getByRole('checkbox', { name: /Send 1 first/ }).click();
    await question.getByRole('button', { name: /^Send .+ again$/ }).click();
    await expect.poll(() => new URL(page.url()).pathname).toMatch(/^\/actions\/[0-9a-f]{24}$/);
    await page.getByRole('heading', { level: 1, name: /^Done: .+ dead letters were replayed/ }).waitFor();
  });

  it('many jobs that are dead are found by their payload and grouped by the answer', async () => {
    const { page } = await open('/dead');
    await page.keyboard.press('/');
    await page.keyboard.type('payload.customer.id:42');
    await page.keyboard.press('Enter');
    await expect.poll(() => new URL(page.url()).searchParams.get('q')).toBe('payload.customer.id:42');
    await page.getByRole('heading', { level: 1, name: /dead letters? match/ }).waitFor();
    await page.getByRole('link', { name: 'By answer' }).click();
    await page.locator('.causes h3 a').first().click();
    await expect.poll(() => new URL(page.url()).searchParams.get('q')).toMatch(/answer:/);
    await page.locator('table.letters tbody tr').first().waitFor();
  });

  it('many jobs say why there are none, if their path never occurred', async () => {
    const { page } = await open(`/jobs?q=${encodeURIComponent('payload.Customer.id:42')}`);
    await page.getByText(/^No recent payload has the path Customer\.id: did you mean customer\.id\?$/).waitFor();
  });

  it('many jobs have attempts, the slowest first, and those with a text in the answer', async () => {
    const { page } = await open('/queues/order-events');
    await page.getByRole('link', { name: 'Slowest' }).click();
    await page.getByRole('heading', { level: 1, name: /attempts match\. The slowest took/ }).waitFor();
    expect(await page.locator('tbody tr').count()).toBeGreaterThan(1);
    const answer = page.getByRole('searchbox', { name: 'Text of the receiver’s answer' });
    await answer.fill('poo');
    await page.waitForURL(/answer=poo$/);
    // The focus stays, so what is typed after a pause is text, too.
    await page.keyboard.type('l');
    await expect.poll(() => new URL(page.url()).searchParams.get('answer')).toBe('pool');
    await expect
      .poll(async () => (await page.locator('tbody tr code').allInnerTexts()).every((text) => /pool/i.test(text)))
      .toBe(true);
    await page.locator('tbody tr a').first().click();
    await expect.poll(() => new URL(page.url()).pathname).toMatch(/^\/jobs\/[0-9a-f]{24}$/);
  });

  it('many jobs have changes that are found by the person and the time', async () => {
    const { page } = await open('/activity');
    await page
      .getByRole('link', { name: /^Only changes by / })
      .first()
      .click();
    await expect.poll(() => new URL(page.url()).searchParams.get('actor')).toMatch(/^jf_/);
    await page.getByLabel('When').selectOption('the last hour');
    await expect.poll(() => new URL(page.url()).searchParams.get('since')).toBe('1h');
    await page.locator('table.entries tbody tr').first().waitFor();
  });
});
