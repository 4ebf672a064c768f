import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { openReceiver } from '../support/service.ts';
import { placesOf } from './checks.ts';
import { NO_BROWSER } from './no-browser.ts';
import { openPage, type Session, useBrowser } from './page.ts';
import { settled } from './screens.ts';
import { says, textOf } from './sentence.ts';
import { accountOf, type SmallService, startSmallService } from './small-service.ts';

/** The settings of the account: its keys, people and plan. */

describe.skipIf(NO_BROWSER !== null)('the settings', () => {
  let service: SmallService;
  useBrowser();
  beforeAll(async () => {
    service = await startSmallService();
  });

  it('make a key that is shown once, and works', async () => {
    const account = await service.openAccount();
    await account.createQueue('mails', await openReceiver());
    const page = await showKeys(account.session);
    await says(page, /^1 active key\.$/);
    await page.keyboard.press('n');
    await page.getByRole('dialog', { name: 'New API key' }).waitFor();
    await page.keyboard.type('shop backend');
    const question = page.getByRole('dialog', { name: 'New API key' });
    // The least is chosen: more takes a tick.
    expect(await question.getByRole('checkbox', { checked: true }).count()).toBe(1);
    await question.getByLabel('Read queues and jobs').check();
    // It may be created later, so it is no refusal.
    await question.getByLabel('Only in these queues').fill('nope mail');
    await question.getByText('There is no queue nope.').waitFor();
    await question.getByText('There is no queue mail. Did you mean mails?').waitFor();
    await question.locator('datalist option[value="nope mails"]').waitFor({ state: 'attached' });
    await question.getByLabel('Only in these queues').fill('');
    await page.keyboard.press('Control+Enter');
    await says(page, /^2 active keys\.$/);
    const fresh = page.getByRole('region', { name: /^“shop backend” is ready\. Copy it now/ });
    const key = textOf(await fresh.locator('.term').first().innerText());
    await fresh.locator('h2:focus').waitFor();
    expect(textOf(await fresh.locator('.term').nth(1).innerText())).toBe(`JOBFERRY_API_KEY=${key}`);
    const answer = await fetch(`${account.session.url}/v1/queues`, { headers: { authorization: `Bearer ${key}` } });
    expect(answer.status).toBe(200);
    await row(page, 'shop backend').getByText('new', { exact: true }).waitFor();
    await row(page, 'shop backend').getByText('publish, read', { exact: true }).waitFor();

    expect(await placesOf(page, key)).toEqual(['document']);
    for (const name of ['g', 'o']) await page.keyboard.press(name);
    await page.getByRole('dialog', { name: 'Have you copied the key “shop backend”?' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'I have copied it: close' }).click();
    await fresh.waitFor({ state: 'detached' });
    expect(await placesOf(page, key)).toEqual([]);
    await page.reload();
    await says(page, /^2 active keys\.$/);
    expect(await placesOf(page, key)).toEqual([]);
  });

  it('revoke a key after they have said what uses it', async () => {
    const account = await service.openAccount();
    await account.operate.createKey('old laptop');
    const page = await showKeys(account.session);
    await row(page, 'old laptop')
      .getByRole('button', { name: /^Revoke…/ })
      .click();
    const question = page.getByRole('dialog', { name: 'Revoke “old laptop”?' });
    await question.getByText('It was never used.').waitFor();
    // The least harmful answer has the focus.
    await page.keyboard.press('Enter');
    await question.waitFor({ state: 'detached' });
    await row(page, 'old laptop')
      .getByRole('button', { name: /^Revoke…/ })
      .click();
    await question.getByRole('button', { name: 'Revoke', exact: true }).click();
    await says(page, /^1 active key\.$/);
    await page.getByRole('button', { name: 'Show 1 revoked key' }).click();
    expect(textOf(await row(page, 'old laptop').innerText())).toMatch(/revoked/);
  });

  it('say that to revoke the key of the session signs out, and then it is refused', async () => {
    const account = await service.openAccount();
    const mine = await account.graphql.query(
      'mutation { createApiKey(name: "mine") { ... on CreateApiKeyPayload { key } } }',
    );
    const { key } = mine.createApiKey;
    const { session } = await accountOf(key, account.session.url);
    const watched = await openPage(session);
    const { page } = watched;
    await page.goto('/settings/keys');
    await settled(watched);
    await row(page, 'mine').getByText('this session').waitFor();
    await row(page, 'mine')
      .getByRole('button', { name: /^Revoke…/ })
      .click();
    const question = page.getByRole('dialog', { name: 'Revoke “mine”?' });
    await question.getByText('It is the key of this session: you will be signed out.').waitFor();
    watched.announce(/answer 401|status of 401|request failed/);
    await question.getByRole('button', { name: 'Revoke, and sign out' }).click();
    await says(page, /^Sign in to Jobferry$/);
    await page.getByLabel('API key').fill(key);
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    expect(await placesOf(page, key)).toEqual(['fields']);
  });

  const row = (page: Page, name: string) => page.locator('tbody tr', { hasText: name });

  async function showKeys(session: Session): Promise<Page> {
    const watched = await openPage(session);
    await watched.page.goto('/settings/keys');
    await settled(watched);
    return watched.page;
  }
});
