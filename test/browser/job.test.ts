import { beforeAll, describe, expect, it } from 'vitest';
import { widerThanWindow } from './checks.ts';
import { NO_BROWSER } from './no-browser.ts';
import { NARROW, openPage, useBrowser } from './page.ts';
import { EXACT_PAYLOAD, HTML_ANSWER } from './payloads.ts';
import { settled } from './screens.ts';
import { type SeededService, seedService } from './seed.ts';
import { says, textOf } from './sentence.ts';
import { accountOf } from './small-service.ts';

/** The page of a job: its first line says what happens next and when, or what became of it. */

describe.skipIf(NO_BROWSER !== null)('the page of a job', () => {
  let service: SeededService;
  useBrowser();
  beforeAll(async () => {
    service = await seedService();
  });

  const SENTENCES: readonly [job: keyof SeededService['jobs'], sentence: RegExp][] = [
    ['retrying', /^Retries in .+, at .+, because the receiver did not answer within 15 s\.$/],
    ['held', /^Held for .+ more, until .+, because the receiver answered 429\. No attempt is used\.$/],
    ['delayed', /^Scheduled for .+, in .+\.$/],
    ['paused', /^Waits because jf_.+ paused the queue at .+\.$/],
    ['due', /^(Next in line: nothing stands in its way|Waits for its turn: .+ before it)\.$/],
    ['noSlot', /^Waits for a free slot: 2 of 2 in use\.$/],
    ['rateLimited', /^Waits until .+ more: the rate limit of 2 per .+ is used up\.$/],
    [
      'queueHeld',
      /^Waits: its queue is held for .+ more, until .+, because job ….+ said “tokens per minute used up”\.$/,
    ],
    ['behindProbe', /^Waits for the probe: job ….+ tests whether the receiver accepts deliveries again\.$/],
    ['awaitingAck', /^Received\. The worker has .+ more to report, until .+\.$/],
    ['completed', /^Completed at .+: the receiver answered 200 in 48 ms\.$/],
    ['acked', /^Completed at .+: the worker reported success\.$/],
    ['attemptsExhausted', /^Dead since .+: the receiver answered 500 on all 5 attempts\.$/],
    ['ackTimeout', /^Dead since .+: the worker did not report within .+\.$/],
    ['nacked', /^Dead since .+: the worker refused it for good: “unsupported colour profile: CMYK”\.$/],
    ['deferCapExhausted', /^Dead since .+: the limit of 50\sholds is used up; the receiver last answered 429\.$/],
    [
      'retryAfterExceedsLifetime',
      /^Dead since .+: the receiver asked to wait past .+, the end of the job’s lifetime\.$/,
    ],
    ['lifetimeExceeded', /^Dead since .+: its lifetime ended at .+ before it was delivered\.$/],
    ['queueDeleted', /^Dead since .+: its queue was deleted\.$/],
    ['cancelled', /^Cancelled at .+ by jf_.+\.$/],
  ];

  it('begins with what happens next, or with what became of it', async () => {
    const watched = await openPage(service.session);
    const wrong: string[] = [];
    for (const [name, sentence] of SENTENCES) {
      await watched.page.goto(`/jobs/${service.jobs[name]}`);
      await settled(watched);
      // Between two deliveries a full queue has a free slot.
      await says(watched.page, sentence).catch(({ message }: Error) => wrong.push(`${name}: ${message}`));
    }
    expect(wrong).toEqual([]);
  });

  it('keeps the words of the crossing and of each attempt apart at every width', async () => {
    const watched = await openPage(service.session);
    const { page } = watched;
    const overlaps: string[] = [];
    for (const name of ['retrying', 'attemptsExhausted', 'nacked', 'awaitingAck', 'completed', 'acked'] as const) {
      await page.goto(`/jobs/${service.jobs[name]}`);
      await settled(watched);
      for (const width of [1920, 1440, 1100, 960, 800, 737, 735, 390, 320]) {
        await page.setViewportSize({ width, height: 900 });
        for (const part of await page.locator('ol.crossing, .attempts .att').all()) {
          const found = await part.evaluate(overlappingWords);
          overlaps.push(...found.map((pair) => `${name} at ${width}: ${pair}`));
        }
      }
    }
    expect(overlaps).toEqual([]);
  });

  it('shows and copies every byte of a payload, and runs none of it', async () => {
    const watched = await openPage(service.session);
    const { page } = watched;
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.goto(`/jobs/${service.jobs.exact}`);
    await settled(watched);
    const shown = page.getByRole('region', { name: 'Payload, exact source text' });
    expect(
      await shown
        .locator('code')
        .allTextContents()
        .then((lines) => lines.join('\n').replaceAll('\n\n', '\n')),
    ).toBe(EXACT_PAYLOAD);
    const panel = page.locator('section', { has: page.getByRole('heading', { name: 'Payload' }) });
    await panel.getByRole('button', { name: /copy/i }).click();
    await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(EXACT_PAYLOAD);
    await panel.getByRole('button', { name: 'Tidy' }).click();
    await page.getByRole('region', { name: 'Payload, tidy' }).getByText('9007199254740993').waitFor();
    const answer = page.getByRole('region', { name: 'The receiver’s answer' });
    expect(await answer.first().textContent()).toBe(HTML_ANSWER);
    expect(await page.title()).not.toBe('run');
  });

  it('counts down by the clock of the server, whatever this computer thinks', async () => {
    const right = await openPage(service.session);
    const wrong = await openPage(service.session, { clockAheadMs: 10 * 60_000 });
    const pages = [right, wrong];
    for (const watched of pages) {
      await watched.page.goto(`/jobs/${service.jobs.retrying}`);
      await settled(watched);
    }
    const readings = (await Promise.all(pages.map(({ page }) => page.locator('h1').innerText()))).map(textOf);
    const [a, b] = readings.map((text) => {
      const [, minutes = '0', seconds = '0'] = /in (?:(\d+) min ?)?(?:(\d+) s)?/.exec(text) ?? [];
      return Number(minutes) * 60 + Number(seconds);
    });
    expect(Math.abs((a ?? 0) - (b ?? 0)), readings.join(' | ')).toBeLessThan(30);
  });

  it('changes within the page when the job changes', async () => {
    const watched = await openPage(service.session);
    const { page } = watched;
    const { jobs, graphql } = service;
    await page.goto(`/jobs/${jobs.delayed}`);
    await settled(watched);
    await graphql.query('mutation ($id: ID!) { runNow(id: $id) { __typename } }', { id: jobs.delayed });
    await page.getByRole('heading', { level: 1, name: /^Completed at/ }).waitFor();
  });

  it('writes out what would turn the text around it, and sends it as it is', async () => {
    const job = { payloadText: '{"file":"gpj.\u202etxt"}', idempotencyKey: 'a\u2067b', delay: 3600 };
    const { publishJobs } = await service.graphql.query(
      `mutation ($jobs: [PublishJobsInput!]!) { publishJobs(jobs: $jobs) {
         ... on PublishJobsPayload { answers { ... on PublishJobPayload { job { id } } } } } }`,
      { jobs: [{ queue: 'audit-trail', job }] },
    );
    const watched = await openPage(service.session);
    const { page } = watched;
    await page.goto(`/jobs/${publishJobs.answers[0].job.id}`);
    await settled(watched);
    const text = await page.locator('main').innerText();
    expect(text).not.toMatch(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/);
    expect(text).toContain('"gpj.[U+202E]txt"');
    expect(text).toContain('a[U+2067]b');
    expect(text).toContain('has characters that turn the direction of the text');
  });

  it('compares two attempts to which no answer came, at 320 px', async () => {
    const account = await accountOf(service.key, service.api.baseUrl);
    // Nothing listens there.
    await account.createQueue('closed-door', { url: 'http://127.0.0.1:1' }, { maxAttempts: 2, backoffDelay: 0 });
    const id = await account.publishUntil('DEAD', 'closed-door');
    const watched = await openPage(service.session, NARROW);
    const { page } = watched;
    await page.goto(`/jobs/${id}/compare`);
    await settled(watched);
    expect(await page.locator('h1').innerText()).toBe('No answer came to either.');
    expect(textOf(await page.locator('tr', { hasText: 'Error' }).innerText())).toMatch(/(connection_refused ?){2}/);
    expect(await widerThanWindow(page)).toEqual([]);
  });

  it('tells nothing of a job of another account', async () => {
    const watched = await openPage(service.session);
    const { page } = watched;
    const [id = ''] = service.stranger.jobIds;
    await page.goto(`/jobs/${id}`);
    await settled(watched);
    expect(await page.locator('h1').innerText()).toMatch(/^No job has this id\. Jobs are kept for 72.h\.$/);
    expect(await page.locator('main').innerText()).not.toMatch(/of another account|of-another-account/);
  });
});

/** Pairs of words of different parts that cover each other. What an element cuts off covers nothing. */
function overlappingWords(of: Element): string[] {
  const words = [...of.querySelectorAll('b, small, .leg span, button, :scope.att > span')].flatMap((element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    const [text, box] = [range.getBoundingClientRect(), element.getBoundingClientRect()];
    const isCut = getComputedStyle(element).overflow === 'hidden';
    const [left, right] = isCut
      ? [Math.max(text.left, box.left), Math.min(text.right, box.right)]
      : [text.left, text.right];
    // The words of one part of a crossing belong together; in an attempt each stands alone.
    const part = of.matches('.att') ? element : element.closest('li');
    return text.width === 0
      ? []
      : [{ part, name: element.textContent, left, right, top: text.top, bottom: text.bottom }];
  });
  return words.flatMap((a, index) =>
    words.slice(index + 1).flatMap((b) => {
      const isApart =
        a.part === b.part ||
        a.right <= b.left + 0.5 ||
        b.right <= a.left + 0.5 ||
        a.bottom <= b.top + 0.5 ||
        b.bottom <= a.top + 0.5;
      return isApart ? [] : [`“${a.name}” and “${b.name}”`];
    }),
  );
}
