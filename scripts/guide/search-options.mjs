// Shared by the build, which makes the index, and by the page, which reads it: they must be equal.

/** Endings that a reader may write or not. */
const ENDINGS = /(?:ing|ies|es|ed|s)$/;

/** @type {import('minisearch').Options} */
export const OPTIONS = {
  fields: ['title', 'heading', 'text'],
  storeFields: ['url', 'title', 'heading'],
  processTerm: (term) => {
    const lower = term.toLowerCase();
    return lower.length > 4 ? lower.replace(ENDINGS, '') : lower;
  },
};

/** Words that say nothing about the page, as people write them into a search. */
const EMPTY = new Set([
  'a',
  'an',
  'and',
  'do',
  'does',
  'from',
  'how',
  'i',
  'in',
  'is',
  'my',
  'of',
  'on',
  'the',
  'to',
  'why',
  'with',
]);

/** Pages that explain or prove: a reader who searches has a task. */
const BACKGROUND =
  /^(decisions\/|evidence\/|(changelog|architecture|testing|performance|dependencies|contributing)\.html)/;

/** @returns the results, best first, each place once */
export function find(index, query) {
  const words = query.split(/\s+/).filter((word) => !EMPTY.has(word.toLowerCase()));
  const results = index.search(words.length === 0 ? query : words.join(' '), {
    boost: { title: 4, heading: 3 },
    prefix: (term) => term.length > 2,
    fuzzy: (term) => (term.length > 4 ? 0.2 : false),
    boostDocument: (_id, _term, { url, title }) => (title.startsWith('Guide: ') ? 2 : BACKGROUND.test(url) ? 0.3 : 1),
  });
  return results.filter(({ url }, at) => results.findIndex((one) => one.url === url) === at);
}
