import type { Page } from 'playwright-core';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { addressOf, relayDatabase, startTcpRelay, type TcpRelay } from '../support/tcp-relay.ts';
import { NO_BROWSER } from './no-browser.ts';
import { openPage, type Session, setVisibility, signInAt, useBrowser } from './page.ts';
import { settled } from './screens.ts';
import { type SeededService, seedService } from './seed.ts';
import type { WatchedPage } from './watched-page.ts';

/** A person sees that something is broken, and everything is as before when it works again. */

describe.skipIf(NO_BROWSER !== null)('a dashboard that loses touch', () => {
  let service: SeededService;
  let database: TcpRelay;
  useBrowser();
  beforeAll(async () => {
    service = await seedService({
      reachOfApi: async (url) => {
        const relayed = await relayDatabase(url);
        database = relayed.relay;
        return relayed.url;
      },
    });
  });

  afterEach(() => database.heal());

  it('says that it is stale when its stream is cut, and misses nothing', async () => {
    const network = await startTcpRelay(addressOf(service.api.baseUrl));
    const url = `http://127.0.0.1:${network.port}`;
    const watched = await openPage(await signInAt(url, service.key));
    const { page } = watched;
    await page.goto('/jobs?q=queue:order-events');
    await settled(watched);
    watched.announce(/request failed|Failed to load resource|net::ERR/);
    await network.cut();
    await page
      .getByText(/Stale since/)
      .first()
      .waitFor();
    await service.graphql.query('mutation ($id: ID!) { cancelJob(id: $id) { __typename } }', {
      id: service.jobs.delayed,
    });
    await network.heal();
    await page.getByRole('button', { name: /^Live/ }).waitFor();
    await page
      .locator('tr', { has: page.locator(`a[data-job="${service.jobs.delayed}"]`) })
      .locator('.c1')
      .getByText('Cancelled')
      .waitFor();
    expect(await page.getByText(/Stale since/).count()).toBe(0);
  });

  it('keeps its rows when a dialog cannot be fetched, and opens it at the next press', async () => {
    const network = await startTcpRelay(addressOf(service.api.baseUrl));
    const watched = await openPage(await signInAt(`http://127.0.0.1:${network.port}`, service.key));
    const { page } = watched;
    await page.goto('/queues');
    await settled(watched);
    const rows = page.locator('tbody tr');
    const count = await rows.count();
    watched.announce(/request failed|Failed to load resource|net::ERR/);
    await network.cut();
    await page
      .getByText(/Stale since/)
      .first()
      .waitFor();
    const openExport = page.getByRole('button', { name: 'Export…' });
    await openExport.click();
    await page.getByText('The service cannot be reached;').waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
    expect(await rows.count()).toBe(count);
    await network.heal();
    await page.getByRole('button', { name: /^Live/ }).waitFor();
    await openExport.click();
    await page.getByRole('dialog').waitFor();
    expect(await page.getByText('The service cannot be reached;').count()).toBe(0);
  });

  it('keeps what it shows while the database is gone, and goes on when it is back', async () => {
    const watched = await openPage(service.session);
    const { page } = watched;
    await page.goto('/jobs?q=queue:order-events');
    await settled(watched);
    const rows = page.locator('tbody tr');
    const count = await rows.count();
    watched.announce(/answer 503|status of 503|request failed|net::ERR|Failed to load resource/);
    await setVisibility(page, 'hidden');
    await page.getByRole('button', { name: /^Not connected/ }).waitFor();
    await database.cut();
    await setVisibility(page, 'visible');
    await page.getByText('This list could not be loaded.').waitFor();
    expect(await rows.count()).toBe(count);
    await database.heal();
    await page.getByText('This list could not be loaded.').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: /^Live/ }).waitFor();
  });

  /**
   * Lets requests be answered as by a process of the release before, while `isOld` says so: the real server gets them
   * with a field that it does not know, and refuses them as an older one refuses a field of this page.
   */
  async function answerAsOlder(page: Page, isOld: () => boolean): Promise<void> {
    await page.route('**/graphql', async (route) => {
      const sent = route.request().postDataJSON() as { query: string };
      if (!isOld()) return route.fallback();
      const query = sent.query.replace('{', '{ fieldOfTheNextRelease ');
      await route.fulfill({ response: await route.fetch({ postData: { ...sent, query } }) });
    });
  }
  const OTHER = 'Another version of Jobferry answered,';

  it('says that another version answered, keeps what it shows, and goes on when its own answers', async () => {
    const watched = await openPage(service.session);
    const { page } = watched;
    let isOld = false;
    await answerAsOlder(page, () => isOld);
    await page.goto('/jobs?q=queue:order-events');
    await settled(watched);
    const rows = page.locator('tbody tr');
    const count = await rows.count();
    expect(count).toBeGreaterThan(0);
    expect(await page.getByText(OTHER, { exact: true }).count()).toBe(0);

    watched.announce(/answer 400|status of 400/);
    isOld = true;
    // Paused and resumed: everything is read again, and the stream stays.
    await page.keyboard.press('.');
    await page.keyboard.press('.');
    await page.getByText(OTHER, { exact: true }).waitFor();
    await page.getByText('This list could not be loaded.').waitFor();
    expect(await rows.count()).toBe(count);
    isOld = false;
    await page.getByText(OTHER, { exact: true }).waitFor({ state: 'detached' });
    await page.getByText('This list could not be loaded.').waitFor({ state: 'detached' });
    expect(await rows.count()).toBe(count);
  });

  it('comes up by itself when it was loaded while another version answered', async () => {
    const watched = await openPage(service.session);
    const { page } = watched;
    let isOld = true;
    watched.announce(/answer 400|status of 400/);
    await answerAsOlder(page, () => isOld);
    await page.goto('/queues/order-events');
    await page.getByText(OTHER, { exact: true }).waitFor();
    isOld = false;
    await page.getByText(OTHER, { exact: true }).waitFor({ state: 'detached' });
    await settled(watched);
    expect(await page.locator('h1').innerText()).toMatch(/^Running|^Idle/);
    await page.getByRole('button', { name: /^Live/ }).waitFor();
  });

  it('works with a later version, whose answers have more than it asked for', async () => {
    const watched = await openPage(service.session);
    const { page } = watched;
    await page.route('**/graphql', async (route) => {
      if (route.request().headers().accept === 'text/event-stream') return route.fallback();
      const response = await route.fetch();
      const answer = (await response.json()) as { data: Record<string, unknown> };
      const { server } = answer.data as { server?: { version: string } };
      if (server !== undefined) server.version = '99.0.0';
      await route.fulfill({ response, json: { ...answer, data: { ...answer.data, fieldOfTheNextRelease: [{}] } } });
    });
    await page.goto('/jobs?q=queue:order-events');
    await page.getByText('A new version of this page is ready.').waitFor();
    await page.locator('tbody tr').first().waitFor();
    await page.goto('/');
    await page.getByText('A new version of this page is ready.').waitFor();
    await page.locator('tbody tr').first().waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  it('reads at once what waits for its next try, when its stream is back', async () => {
    const network = await startTcpRelay(addressOf(service.api.baseUrl));
    const watched = await openPage(await signInAt(`http://127.0.0.1:${network.port}`, service.key));
    const { page } = watched;
    watched.announce(/answer 503|status of 503|request failed|net::ERR|Failed to load resource/);
    await page.route('**/graphql', (route) => {
      if (route.request().postData()?.includes('query JobsPage') !== true) return route.fallback();
      return route.fulfill({ status: 503, headers: { 'retry-after': '600' }, json: { error: 'the database is gone' } });
    });
    await page.goto('/jobs?q=queue:order-events');
    await page.getByText('This list could not be loaded.').waitFor();
    await page.getByRole('button', { name: /^Live/ }).waitFor();
    await page.unroute('**/graphql');
    await network.cut();
    await page
      .getByText(/Stale since/)
      .first()
      .waitFor();
    await network.heal();
    await page.locator('tbody tr').first().waitFor();
    expect(await page.getByText('This list could not be loaded.').count()).toBe(0);
  });

  async function endSession(session: Session): Promise<void> {
    const cookie = `${session.cookie?.name}=${session.cookie?.value}`;
    const ended = await fetch(`${session.url}/session`, {
      method: 'DELETE',
      headers: { cookie, origin: session.url, 'jobferry-dashboard': '1' },
    });
    expect(ended.status).toBe(204);
  }

  /** @param back the address that it leads back to */
  async function signsInAgain(watched: WatchedPage, back: string): Promise<void> {
    const { page } = watched;
    await page.getByRole('heading', { name: 'Sign in to Jobferry' }).waitFor();
    await page.getByLabel('API key').fill(service.key);
    await page.keyboard.press('Enter');
    await expect.poll(() => page.url()).toBe(back);
    await settled(watched);
  }

  it('asks to sign in once its session has ended, and comes back to the same address', async () => {
    const session = await signInAt(service.api.baseUrl, service.key);
    const watched = await openPage(session);
    const { page } = watched;
    const address = '/jobs?q=state:dead';
    await page.goto(address);
    await settled(watched);
    watched.announce(/answer 401|status of 401|request failed/);
    await endSession(session);
    await signsInAgain(watched, `${session.url}${address}`);
    expect(await page.content()).not.toContain(service.key);
    expect(await page.evaluate(() => JSON.stringify([localStorage, sessionStorage, document.cookie]))).not.toContain(
      service.key,
    );
  });

  it('asks to sign in when a new version was deployed before its session ended', async () => {
    const session = await signInAt(service.api.baseUrl, service.key);
    const watched = await openPage(session);
    const { page } = watched;
    const address = '/jobs?q=state:dead';
    await page.goto(address);
    await settled(watched);
    watched.announce(/answer 40[14]|status of 40[14]|request failed/);
    // The server has scripts of the new version only, under other names.
    await page.route('**/assets/sign-in-*.js', (route) => route.fulfill({ status: 404, body: '' }));
    page.on('request', (request) => {
      if (request.isNavigationRequest()) void page.unroute('**/assets/sign-in-*.js');
    });
    await endSession(session);
    await signsInAgain(watched, `${session.url}${address}`);
  });
});
