import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { createGate } from '../support/service.ts';
import { focused, tabTo, widerThanWindow } from './checks.ts';
import { NO_BROWSER } from './no-browser.ts';
import { NARROW, openPage, useBrowser } from './page.ts';
import { settled } from './screens.ts';
import { type SeededService, seedService } from './seed.ts';

/** The list of jobs: one filter box, rows that one can walk, peek at, tick and open, and a way back. */

const FILTER = 'state:dead payload.customer.id:42';

describe.skipIf(NO_BROWSER !== null)('the list of jobs', () => {
  let service: SeededService;
  useBrowser();
  beforeAll(async () => {
    service = await seedService();
  });

  it('filters and opens a job by keyboard alone, and comes back to the same place', async () => {
    const watched = await openPage(service.session);
    const { page } = watched;
    await page.goto('/jobs');
    await settled(watched);
    await page.keyboard.press('/');
    await expect.poll(async () => (await focused(page)).name).toContain('Add a condition');
    for (const condition of FILTER.split(' ')) {
      await page.keyboard.type(condition);
      await page.keyboard.press('Enter');
    }
    await expect.poll(() => new URL(page.url()).searchParams.get('q')).toBe(FILTER);
    await settled(watched);
    const rows = page.locator('tbody tr');
    const count = await rows.count();
    expect(count).toBeGreaterThan(0);
    const words = await rows.locator('td.c1').allInnerTexts();
    expect(words.filter((word) => !/Dead|Cancelled/.test(word))).toEqual([]);
    for (const payload of await rows.locator('td.payload').allInnerTexts()) expect(payload).toMatch(/^\{"/);
    expect(await rows.locator('td.payload').count()).toBe(count);

    await page.keyboard.press('Escape');
    await page.locator('h1').focus();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    const link = await page.evaluate(() => document.activeElement?.getAttribute('data-job') ?? '');
    expect(link).not.toBe('');
    await page.keyboard.press('Enter');
    await expect.poll(() => new URL(page.url()).pathname).toBe(`/jobs/${link}`);
    await settled(watched);
    expect(await page.locator('h1').innerText()).toMatch(/^(Dead since|Cancelled at)/);
    await page.goBack();
    await settled(watched);
    expect(new URL(page.url()).searchParams.get('q')).toBe(FILTER);
    expect(await rows.count()).toBe(count);
  });

  it('gives the focus back to the row that was opened, where it was', async () => {
    const watched = await openPage(service.session);
    const { page } = watched;
    await page.goto('/jobs');
    await settled(watched);
    // Far enough down that the page has to scroll.
    for (let n = 0; n < 30; n += 1) await page.keyboard.press('j');
    const focusedIndex = () =>
      page.evaluate(() =>
        [...document.querySelectorAll('tbody tr')].findIndex((row) => row.contains(document.activeElement)),
      );
    await expect.poll(focusedIndex).toBe(29);
    const scrolled = () => page.evaluate(() => Math.round(scrollY));
    const place = await scrolled();
    expect(place).toBeGreaterThan(0);
    const focusedRow = () => page.evaluate(() => document.activeElement?.getAttribute('data-job') ?? null);
    const row = await focusedRow();
    await page.keyboard.press('Enter');
    await expect.poll(() => new URL(page.url()).pathname).toBe(`/jobs/${row}`);
    await settled(watched);
    await page.goBack();
    await settled(watched);
    await expect.poll(focusedRow).toBe(row);
    await expect.poll(scrolled).toBe(place);
    // The walk goes on from there.
    const next = await page.evaluate(
      (id) =>
        document.querySelector(`a[data-job="${id}"]`)?.closest('tr')?.nextElementSibling?.querySelector('a')?.dataset
          .job,
      row,
    );
    await page.keyboard.press('j');
    await expect.poll(focusedRow).toBe(next);
  });

  it('offers conditions below its box, by the roles and keys of a combobox', async () => {
    const watched = await openPage(service.session);
    const { page } = watched;
    await page.goto('/jobs');
    await settled(watched);
    const box = page.getByRole('combobox', { name: 'Add a condition' });
    const marked = () =>
      box.evaluate((input) => document.getElementById(input.getAttribute('aria-activedescendant') ?? '')?.textContent);
    await page.keyboard.press('/');
    await expect.poll(() => box.getAttribute('aria-expanded')).toBe('false');
    await page.keyboard.press('ArrowDown');
    await page.getByRole('listbox', { name: 'Suggestions' }).waitFor();
    expect(await marked()).toMatch(/^state:/);
    await page.keyboard.press('ArrowUp');
    expect(await marked()).toMatch(/^payload\./);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await expect.poll(() => box.inputValue()).toBe('state:');
    await page.getByRole('option', { name: 'state:held' }).click();
    await expect.poll(() => new URL(page.url()).searchParams.get('q')).toBe('state:held');
    expect((await focused(page)).role).toBe('combobox');
    // Backspace makes the chip text again, Tab completes it, Escape closes the list and then leaves the box.
    await page.keyboard.press('Backspace');
    await expect.poll(() => box.inputValue()).toBe('state:held');
    // As an input method sends it, whose user takes a spelling.
    await box.dispatchEvent('keydown', { key: 'Enter', isComposing: true });
    expect(await box.inputValue()).toBe('state:held');
    await page.keyboard.press('Backspace');
    await page.keyboard.press('Tab');
    await expect.poll(() => box.inputValue()).toBe('state:held');
    await page.keyboard.press('Escape');
    await expect.poll(() => box.getAttribute('aria-expanded')).toBe('false');
    await page.keyboard.press('Escape');
    await expect.poll(async () => (await focused(page)).role).not.toBe('combobox');

    await page.goto('/jobs');
    await settled(watched);
    // Enter waits for the look-ups, and another text takes it back.
    const gate = createGate();
    await page.route('**/graphql', async (route) => {
      if (route.request().postData()?.includes('query SuggestPaths')) await gate.opened;
      await route.fallback();
    });
    await page.keyboard.press('/');
    await page.keyboard.type('customer 4');
    await page.keyboard.press('Enter');
    await page.getByText('Searching…').waitFor();
    await page.keyboard.type('2');
    await page.getByText('Searching…').waitFor({ state: 'detached' });
    await page.keyboard.press('Enter');
    await page.getByText('Searching…').waitFor();
    gate.open();
    await expect.poll(() => new URL(page.url()).searchParams.get('q')).toBe('payload.customer.id:42,"42"');
    await page.unroute('**/graphql');
    // A look-up without an answer holds it for three seconds at most.
    await page.route('**/graphql', (route) =>
      route.request().postData()?.includes('query SuggestPaths') ? undefined : route.fallback(),
    );
    await page.keyboard.type('lamp');
    await page.keyboard.press('Enter');
    await expect.poll(() => new URL(page.url()).searchParams.get('q')).toContain('lamp');
  });

  it('shows the list beside the job of an address with a peek', async () => {
    const watched = await openPage(service.session);
    const { page } = watched;
    await page.goto(`/jobs?q=queue:order-events&peek=${service.jobs.retrying}`);
    await settled(watched);
    await page
      .getByRole('complementary', { name: /^Job …/ })
      .getByText(/Retries in/)
      .waitFor();
    expect(await page.locator('tbody tr').count()).toBe(50);
  });

  it('selects and cancels by mouse', async () => {
    const watched = await openPage(service.session);
    const { page } = watched;
    const [first = '', second = '', third = ''] = await publishDelayed(3);
    await page.goto(`/jobs?q=${encodeURIComponent('queue:audit-trail state:scheduled')}`);
    await settled(watched);
    const box = (id: string) => page.locator('tr', { has: page.locator(`a[data-job="${id}"]`) }).getByRole('checkbox');
    await box(first).click();
    await box(third).click({ modifiers: ['Shift'] });
    await page.getByText('3 selected.').waitFor();
    // The end of a range stays selected, to the eye as well.
    await box(second).click({ modifiers: ['Shift'] });
    expect(await Promise.all([first, second, third].map((id) => box(id).isChecked()))).toEqual([true, true, true]);
    await page.getByRole('button', { name: 'Cancel 3…' }).click();
    const question = page.getByRole('dialog', { name: 'Cancel 3 jobs?' });
    await question.getByRole('button', { name: 'Keep them' }).waitFor();
    await question.getByRole('button', { name: 'Cancel 3', exact: true }).click();
    await page.getByText('Done: 3 jobs were cancelled.').waitFor();
    // The bar is gone.
    await page.locator('h1:focus').waitFor();
    // The row does not match any more: it is dimmed, and gone once the list is read again.
    await page.locator(`tr:not(.gone) a[data-job="${first}"]`).waitFor({ state: 'detached' });
  });

  it('shows a change within the page, and never moves a row', async () => {
    const watched = await openPage(service.session);
    const { page } = watched;
    const [id = ''] = await publishDelayed(1);
    await page.goto(`/jobs?q=${encodeURIComponent('queue:audit-trail')}`);
    await settled(watched);
    const row = page.locator('tr', { has: page.locator(`a[data-job="${id}"]`) });
    const before = await row.boundingBox();
    await service.graphql.query('mutation ($id: ID!) { cancelJob(id: $id) { __typename } }', { id });
    await row.locator('.c1').getByText('Cancelled').waitFor();
    expect((await row.boundingBox())?.y).toBe(before?.y);
  });

  it('can be reached by Tab alone, and shows where the focus is', async () => {
    const watched = await openPage(service.session);
    const { page } = watched;
    await page.goto('/jobs');
    await settled(watched);
    // As a person does who comes from the bar of the browser.
    await page.evaluate(() => {
      document.body.tabIndex = -1;
      document.body.focus();
    });
    await tabTo(page, /^Skip to content$/);
    await tabTo(page, /Find or do anything/);
    await tabTo(page, /Add a condition/);
    await tabTo(page, /^Select job/);
  });

  it('can be exported at 320 px, where long words of a queue do not overlap', async () => {
    const { page } = await openPage(service.session, NARROW);
    await page.goto('/jobs');
    await page.getByRole('button', { name: 'Export…' }).waitFor();
    await page.goto('/queues');
    await page.locator('.queues td.c3 .st').first().waitFor();
    const { gap, lines } = await page.evaluate(() => {
      const row = document.querySelector('.queues tbody tr');
      const [state, age] = [row?.querySelector('td.c3 .st'), row?.querySelector('td.c4')];
      if (!state || !age) return { gap: Number.NaN, lines: 0 };
      age.className = 'n c4 oldest';
      age.innerHTML = '44 min<span class="unit"> oldest due</span>';
      const word = document.createTextNode('Breaker open');
      state.lastChild?.replaceWith(word);
      const range = document.createRange();
      range.setStart(word, 0);
      range.setEnd(word, 'Breaker'.length);
      const gap = age.getBoundingClientRect().left - state.getBoundingClientRect().right;
      return { gap, lines: range.getClientRects().length };
    });
    expect(gap).toBeGreaterThanOrEqual(0);
    expect(lines).toBe(1);
  });

  it('becomes blocks at 320 px, whose rows open the job', async () => {
    const watched = await openPage(service.session, NARROW);
    const { page } = watched;
    await page.goto(`/jobs?q=${encodeURIComponent(FILTER)}`);
    await settled(watched);
    expect(await widerThanWindow(page)).toEqual([]);
    await page.locator('tbody tr').first().click();
    await expect.poll(() => new URL(page.url()).pathname).toMatch(/^\/jobs\/[0-9a-f]{24}$/);
    await settled(watched);
    expect(await widerThanWindow(page)).toEqual([]);
  });

  it('leaves out a range that is none, and leads from a place that is none to the start of the list', async () => {
    const watched = await openPage(service.session);
    const { page } = watched;
    const rows = page.locator('tbody tr');
    await page.goto('/jobs?from=abc&to=def');
    await settled(watched);
    expect(await rows.count()).toBe(50);
    expect(await page.getByRole('alert').count()).toBe(0);
    watched.announce(/answer 400|status of 400/);
    await page.goto('/jobs?after=garbage&order=oldest');
    await page.getByRole('link', { name: 'Show the list from its start' }).click();
    await rows.nth(49).waitFor();
    expect(new URL(page.url()).search).toBe('?order=oldest');
  });

  it('is saved as a file with all that match, more than a page', async () => {
    const watched = await openPage(service.session);
    const { page } = watched;
    const filter = 'state:dead,completed queue:billing-export';
    await page.goto(`/jobs?q=${encodeURIComponent(filter)}`);
    await settled(watched);
    await page.getByRole('button', { name: 'Export…' }).click();
    await page.getByLabel('NDJSON').check();
    const [file] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Control+Enter')]);
    expect(file.suggestedFilename()).toMatch(/^jobferry-jobs-[\dTZ-]+\.ndjson$/);
    const lines = (await readFile(await file.path(), 'utf8'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines[0]).toMatchObject({ export: 'jobs', filter, payloads: false });
    expect(lines.length).toBeGreaterThan(100);
    expect(lines.at(-1)).toEqual({ end: 'jobs', rows: lines.length - 2, complete: true });
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
  });

  it('never shows a job of another account', async () => {
    const watched = await openPage(service.session);
    const { page } = watched;
    for (const q of ['payload.customer.id:42 state:scheduled', 'queue:of-another-account']) {
      await page.goto(`/jobs?q=${encodeURIComponent(q)}`);
      await settled(watched);
      const text = await page.locator('main').innerHTML();
      expect(service.stranger.jobIds.filter((id) => text.includes(id))).toEqual([]);
    }
  });

  async function publishDelayed(count: number): Promise<string[]> {
    const jobs = Array.from({ length: count }, () => ({
      queue: 'audit-trail',
      job: { payloadText: '{}', delay: 3600 },
    }));
    const { publishJobs } = await service.graphql.query(
      `mutation ($jobs: [PublishJobsInput!]!) { publishJobs(jobs: $jobs) {
         ... on PublishJobsPayload { answers { ... on PublishJobPayload { job { id } } } } } }`,
      { jobs },
    );
    return publishJobs.answers.map(({ job }: { job: { id: string } }) => job.id);
  }
});
