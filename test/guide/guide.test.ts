import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, posix, sep } from 'node:path';
import { gzipSync } from 'node:zlib';
import MiniSearch from 'minisearch';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeGuide } from '../../scripts/guide/build.mjs';
import { find, OPTIONS } from '../../scripts/guide/search-options.mjs';
import { builtService } from '../support/built.ts';

/**
 * The guide as the build makes it: all links lead somewhere, pages are light,
 * and the search finds what newcomers ask for.
 */

let folder: string;
const pages = new Map<string, string>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'jobferry-guide-'));
  await makeGuide(folder, join(dirname(builtService()), 'src'));
  const files = await readdir(folder, { recursive: true });
  for (const url of files.filter((name) => name.endsWith('.html'))) {
    pages.set(url.split(sep).join('/'), await readFile(join(folder, url), 'utf8'));
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const hrefsIn = (html: string) => [...html.matchAll(/\b(?:href|src|srcset)="([^"]+)"/g)].map(([, href = '']) => href);
const anchorsIn = (html: string) => new Set([...html.matchAll(/\bid="([^"]+)"/g)].map(([, id = '']) => id));

describe('a page of the guide', () => {
  it('has links to pages and headings that exist', async () => {
    const anchors = new Map([...pages].map(([url, html]) => [url, anchorsIn(html)]));
    const broken: string[] = [];
    for (const [url, html] of pages) {
      for (const href of hrefsIn(html)) {
        if (/^[a-z]+:/.test(href)) continue;
        const [path = '', hash] = href.split('#');
        const target = path === '' ? url : posix.join(posix.dirname(url), path);
        const isThere = pages.has(target) || (await readFile(join(folder, target)).then(Boolean, () => false));
        const isAnchor = hash === undefined || (anchors.get(target)?.has(hash) ?? false);
        if (!isThere || !isAnchor) broken.push(`${url}: ${href}`);
      }
    }
    expect(broken).toEqual([]);
    expect(pages.size).toBeGreaterThan(50);
  });

  it('loads from no other host', () => {
    for (const [url, html] of pages) {
      const loaded = [...html.matchAll(/<(?:script|link|img|source)\b[^>]*(?:src|href|srcset)="([^"]+)"/g)];
      expect(
        loaded.filter(([, href = '']) => /^[a-z]+:|^\/\//.test(href)),
        url,
      ).toEqual([]);
    }
  });

  it('is at most 100 KB with its script and its style', async () => {
    const size = (text: string | Buffer) => gzipSync(text).length;
    const shared = size(await readFile(join(folder, 'page.js'))) + size(await readFile(join(folder, 'page.css')));
    for (const [url, html] of pages) expect(size(html) + shared, url).toBeLessThan(100_000);
  });

  it('has its title, and is marked in the navigation', () => {
    expect(pages.get('ack-mode.html')).toMatch(/<title>Ack mode – Jobferry<\/title>/);
    expect(pages.get('ack-mode.html')).toMatch(/href="ack-mode\.html" aria-current="page"/);
    expect(pages.get('decisions/index.html')).toContain('href="../page.css"');
  });
});

/** Questions of a newcomer, and the page that answers each. */
const TASKS: [question: string, url: RegExp][] = [
  ['publish a job from python', /^receivers\/python\.html|front-page/],
  ['verify the signature in go', /^receivers\/go\.html/],
  ['test my receiver', /^(client|receivers)\.html#(test|in-tests)/],
  ['job takes longer than 15 seconds', /^(ack-mode|receivers)\.html/],
  ['run on my laptop', /^receivers\.html#(on-your-machine|deliveries-from-any-jobferry)/],
  ['cron schedule', /^examples\/schedules/],
  ['move from bullmq', /^moving\.html/],
  ['rotate signing secret', /^accounts\.html#rotating-a-signing-secret/],
  [
    'webhook 192.168 address refused',
    /^operations\.html#allowed-webhook-addresses|^receivers\.html#when-deliveries-fail/,
  ],
  ['declare queues in a file', /^cli\.html#(queues-as-a-file|apply)/],
];

describe('the search of the guide', () => {
  let index: MiniSearch;
  beforeAll(async () => {
    index = MiniSearch.loadJSON(await readFile(join(folder, 'search.json'), 'utf8'), OPTIONS);
  });

  it.each(TASKS)('finds %j among the first three results', (question, url) => {
    const first = find(index, question)
      .slice(0, 3)
      .map(({ url: found }) => found);
    expect(
      first.some((one) => url.test(one)),
      first.join(', '),
    ).toBe(true);
  });

  it('takes a misspelt word, and finds nothing for a word that there is not', () => {
    expect(find(index, 'bakcpressure')[0]?.heading).toMatch(/back-?pressure/i);
    expect(find(index, 'xyzzyplugh')).toEqual([]);
  });
});
