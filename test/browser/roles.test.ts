import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { NO_BROWSER } from './no-browser.ts';
import { openPage, useBrowser } from './page.ts';
import { seedWithPeople } from './people.ts';
import { SCREENS, settled, showScreen } from './screens.ts';
import type { WatchedPage } from './watched-page.ts';

/** People with each role find on the pages no more than the server lets them do, and no less. */

/** Words of buttons and links that change something. */
const MUTATIONS =
  /\b(pause|resume|run (\d+ )?now|replay(?!ed)|cancel|report (success|failure)|send|edit|purge|rotate|encrypt|delete|new (queue|key|rule)|silence|revoke|stop|end the hold|change concurrency|signing secret|standard webhooks|switch o(n|ff)|mark)\b/i;
/** Names of buttons that change nothing on the server. */
const HARMLESS = /pause (or resume )?updates|cancelled|^(replay of dead letters|cancel jobs)$/i;

describe.skipIf(NO_BROWSER !== null)('a dashboard for each role', () => {
  let people: Awaited<ReturnType<typeof seedWithPeople>>;
  useBrowser();
  beforeAll(async () => {
    people = await seedWithPeople();
  });

  /** @returns the mutations that the page sends from now on */
  function mutationsOf(page: Page): string[] {
    const sent: string[] = [];
    page.on('request', (request) => {
      const [, name] = /\bmutation (\w+)/.exec(request.postData() ?? '') ?? [];
      if (name !== undefined) sent.push(name);
    });
    return sent;
  }

  async function offersOf({ page }: WatchedPage): Promise<string[]> {
    const all = await page
      .locator('main :is(button, a, [role=menuitem]), dialog :is(button, td)')
      .evaluateAll((elements) =>
        elements.map((element) => {
          // A key stands beside the words without a space.
          const texts = [...element.childNodes].map(({ textContent }) => textContent ?? '');
          return element.getAttribute('aria-label') ?? texts.join(' ');
        }),
      );
    return all.map((text) => text.trim()).filter((text) => MUTATIONS.test(text) && !HARMLESS.test(text));
  }

  it('offers a viewer nothing that changes anything, on any screen, by button or by key', async () => {
    const { service, signIn } = people;
    const watched = await openPage((await signIn('viewer')).session);
    const { page } = watched;
    const sent = mutationsOf(page);
    const found: Record<string, string[]> = {};
    for (const { name } of SCREENS) {
      await showScreen(watched, name, service);
      const offers = await offersOf(watched);
      for (const key of ['p', 'r', 'c', 'n', 'e', 's', 'x', 'a']) await page.keyboard.press(key);
      await page.keyboard.press('?');
      offers.push(...(await offersOf(watched)));
      // Back on the screen, in case a key has led elsewhere.
      if (offers.length > 0) found[name] = offers;
      expect(await page.locator('dialog[open]:not(.help)').count(), name).toBe(0);
    }
    expect(found).toEqual({});
    expect(sent).toEqual([]);
  });

  it('says who may, where a viewer comes by an address', async () => {
    const { signIn } = people;
    const watched = await openPage((await signIn('viewer')).session);
    const { page } = watched;
    for (const [path, sentence] of [
      ['/queues/order-events/send', 'Only an operator or an admin may send jobs. You are a viewer.'],
      ['/queues/order-events/edit', 'Only an admin may change the settings of order-events. You are a viewer.'],
      ['/queues?new=1', 'Only an admin may create a queue. You are a viewer.'],
      ['/settings/members', 'Only an admin may see the members. You are a viewer.'],
    ] as const) {
      await page.goto(path);
      await settled(watched);
      expect(await page.locator('h1').innerText()).toBe(sentence);
    }
    expect(await page.getByRole('link', { name: 'Members' }).count()).toBe(0);
  });

  it('shows a viewer without payloads none, says so, and suggests no filter by them', async () => {
    const { service, signIn } = people;
    const watched = await openPage((await signIn('viewer')).session);
    const { page } = watched;
    await page.goto(`/jobs/${service.jobs.exact}`);
    await settled(watched);
    const sentence = 'You have no right to see payloads.';
    const payload = page.locator('section', { has: page.getByRole('heading', { name: 'Payload' }) });
    expect(await payload.innerText()).toContain(sentence);
    const attempts = page.locator('section', { has: page.getByRole('heading', { name: 'Attempts' }) });
    expect(await attempts.innerText()).toContain(sentence);
    expect(await page.getByRole('button', { name: 'curl' }).count()).toBe(0);

    await page.goto(`/jobs?q=${encodeURIComponent('queue:order-events payload.customer.id:42')}`);
    await settled(watched);
    await page.getByText('You have no right to see payloads and answers, so you cannot search in them.').waitFor();
    const input = page.getByRole('combobox', { name: 'Add a condition' });
    // A value of many payloads, and the beginnings of the words that are left out.
    for (const typed of ['order', 'paid', 'p', 'e']) {
      await input.fill(typed);
      await page.getByText(`idempotency key contains “${typed}”`).waitFor();
      const options = page.getByRole('listbox', { name: 'Suggestions' }).getByRole('option');
      await watched.atRest();
      expect((await options.allInnerTexts()).filter((text) => /payload|error|=/.test(text))).toEqual([]);
    }
    await input.fill('');
    await page.getByRole('button', { name: /^Remove.*payload\.customer/ }).click();
    await page.locator('tbody tr').first().waitFor();
    expect(await page.locator('.payload').count()).toBe(0);
  });

  it('lets a viewer open saved views, and not save or delete any', async () => {
    const { service, signIn } = people;
    for (const [name, query] of [
      ['Dead orders', 'q=state:dead+queue:order-events'],
      ['Of customer 42', 'q=payload.customer.id:42'],
    ]) {
      await service.graphql.query('mutation S($input: SaveViewInput!) { saveView(input: $input) { __typename } }', {
        input: { page: 'JOBS', name, query },
      });
    }
    const watched = await openPage((await signIn('viewer')).session);
    const { page } = watched;
    await page.goto('/jobs?q=state:held');
    await settled(watched);
    await page.getByRole('button', { name: 'Views' }).click();
    const menu = page.locator('.menu:popover-open');
    // Its conditions are about payloads, which this person may not see.
    await menu.getByText('Of customer 42').waitFor();
    expect(await menu.getByRole('link').allInnerTexts()).toEqual(['Dead orders']);
    expect(await menu.locator('button, input').count()).toBe(0);
    await menu.getByRole('link', { name: 'Dead orders' }).click();
    await expect.poll(() => new URL(page.url()).searchParams.get('q')).toBe('state:dead queue:order-events');
  });

  it('shows payloads and answers to a viewer with the right', async () => {
    const { service, signIn } = people;
    const watched = await openPage((await signIn('reader')).session);
    const { page } = watched;
    await page.goto(`/jobs/${service.jobs.exact}`);
    await settled(watched);
    expect(await page.getByText('You have no right to see payloads.').count()).toBe(0);
    await page.getByRole('region', { name: 'Payload, exact source text' }).waitFor();
    await page.getByRole('region', { name: 'The receiver’s answer' }).first().waitFor();
  });

  it('lets an operator work with queues and jobs, and not change settings', async () => {
    const { signIn } = people;
    const operator = await signIn('operator');
    const watched = await openPage(operator.session);
    const { page } = watched;
    await page.goto('/queues/push-notify');
    await settled(watched);
    expect(await page.getByRole('link', { name: /^Edit/ }).count()).toBe(0);
    await page.keyboard.press('p');
    await page.getByRole('heading', { level: 1, name: new RegExp(`^Paused since .+ by ${operator.email}`) }).waitFor();
    await page.getByRole('button', { name: /^Resume/ }).click();
    await page.getByRole('button', { name: /^Pause/ }).waitFor();
    await page.getByRole('button', { name: 'More' }).click();
    expect(await page.locator('.menu:popover-open a').allInnerTexts()).toEqual(['Change history', 'Purge…']);

    await page.goto('/queues/push-notify/edit');
    await settled(watched);
    expect(await page.locator('h1').innerText()).toMatch(/^Only an admin may change .* You are an operator\.$/);
    expect(await page.getByLabel('Concurrency').isDisabled()).toBe(true);
    expect(await page.locator('.danger-row h3').allInnerTexts()).toEqual(['Purge']);
    expect(await page.getByRole('button', { name: /^Save/ }).count()).toBe(0);

    await page.goto('/queues/push-notify/send');
    await settled(watched);
    await page.getByRole('button', { name: /^Send/ }).click();
    await expect.poll(() => page.locator('h1').innerText()).toMatch(/The job is completed\.$/);
  });

  it('lets an admin do all that a key may', async () => {
    const { service, signIn } = people;
    const watched = await openPage((await signIn('admin')).session);
    const { page } = watched;
    const offered: Record<string, boolean> = {};
    const screens = [
      'overview',
      'queues',
      'queue',
      'send',
      'job-retrying',
      'job-dead',
      'dead-letters',
      'action',
      'settings',
    ];
    for (const name of screens) {
      await showScreen(watched, name, service);
      offered[name] = (await offersOf(watched)).length > 0;
    }
    expect(Object.values(offered).every(Boolean), JSON.stringify(offered)).toBe(true);
    await page.goto('/queues/push-notify/edit');
    await settled(watched);
    expect(await page.locator('.danger-row h3').count()).toBe(7);
    await page.getByLabel('Concurrency').fill('3');
    await page.getByRole('button', { name: /^Save/ }).click();
    await page.getByText('1 setting of push-notify changed').waitFor();
  });
});
