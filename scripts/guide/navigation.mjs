// The navigation of the guide is the list of docs/README.md: a group for each heading, a page for each link.

import { posix } from 'node:path';
import { marked } from 'marked';

/** @returns {{title: string, pages: {title: string, page: string, hash: string, what: string}[]}[]} */
export function navigationOf(text, document) {
  const groups = [];
  for (const token of marked.lexer(text)) {
    if (token.type === 'heading' && token.depth === 2) groups.push({ title: token.text, pages: [] });
    if (token.type !== 'list' || groups.length === 0) continue;
    for (const item of token.items) {
      const link = firstLink(item.tokens);
      if (link === undefined) continue;
      const [path = '', hash] = link.href.split('#');
      const page = posix.join(posix.dirname(document), path);
      const what = item.text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');
      groups.at(-1).pages.push({ title: link.text, page, hash: hash === undefined ? '' : `#${hash}`, what });
    }
  }
  return groups.filter(({ pages }) => pages.length > 0);
}

function firstLink(tokens) {
  for (const token of tokens) {
    if (token.type === 'link') return token;
    const found = token.tokens === undefined ? undefined : firstLink(token.tokens);
    if (found !== undefined) return found;
  }
  return undefined;
}
