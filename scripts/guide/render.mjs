// Turns a document into HTML, its headings into anchors as GitHub names them, and its links into links of the guide.
import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { Marked } from 'marked';
import { isPicture, urlOf, wayTo } from './pages.mjs';

/**
 * @param {string} text
 * @param {{page: string, pages: string[], pictures: Set<string>, root: string}} site gets the pictures that the
 * document shows
 */
export function render(text, site) {
  const headings = [];
  const slugs = new Map();
  const marked = new Marked({ gfm: true });
  marked.use({
    renderer: {
      heading({ tokens, depth }) {
        const words = plain(tokens);
        const slug = slugOf(words, slugs);
        headings.push({ depth, text: words, anchor: `#${slug}` });
        const inner = this.parser.parseInline(tokens);
        return `<h${depth} id="${slug}">${inner} <a class="anchor" href="#${slug}" aria-label="Link to this section">#</a></h${depth}>\n`;
      },
      link({ href, tokens }) {
        const inner = this.parser.parseInline(tokens);
        const to = targetOf(href, site);
        return to === null ? `<span class="repository">${inner}</span>` : `<a href="${escaped(to)}">${inner}</a>`;
      },
      image: ({ href, text: alt }) =>
        `<img src="${escaped(pictureOf(href, site))}" alt="${escaped(alt)}" loading="lazy" decoding="async">`,
      code({ text: code, lang }) {
        const name = /^\w+/.exec(lang ?? '')?.[0] ?? 'text';
        return `<pre class="code" data-language="${name}"><code>${escaped(code)}</code></pre>\n`;
      },
      table(token) {
        const row = (cells, tag) =>
          `<tr>${cells.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join('')}</tr>`;
        const body = token.rows.map((cells) => row(cells, 'td')).join('\n');
        return `<div class="table"><table><thead>${row(token.header, 'th')}</thead><tbody>${body}</tbody></table></div>\n`;
      },
      html: ({ text: html }) => htmlOf(html, site),
    },
  });
  const html = marked.parse(text);
  const title = headings.find(({ depth }) => depth === 1)?.text ?? site.page;
  return { html, title, headings, sections: sectionsOf(marked.lexer(text), headings) };
}

/** The documents have HTML for pictures by theme and for code side by side. Paths in it are those of the document. */
function htmlOf(html, site) {
  return html
    .replace(/\b(src|srcset)="([^"]+)"/g, (_, name, path) => `${name}="${escaped(pictureOf(path, site))}"`)
    .replace(/\bhref="([^"]+)"/g, (_, href) => `href="${escaped(targetOf(href, site) ?? '#')}"`)
    .replace(/<!--[\s\S]*?-->/g, '');
}

/** @returns {string | null} null for a file of the repository that the guide does not have */
function targetOf(href, { page, pages }) {
  if (/^[a-z]+:/.test(href)) return href;
  const [path, hash] = href.split('#');
  const anchor = hash === undefined ? '' : `#${hash}`;
  if (path === '') return anchor;
  const target = posix.join(posix.dirname(page), path).replace(/\/$/, '');
  const found = [target, `${target}/README.md`].find((one) => pages.includes(one));
  return found === undefined ? null : wayTo(urlOf(found), urlOf(page)) + anchor;
}

function pictureOf(href, { page, pictures, root }) {
  const path = posix.join(posix.dirname(page), href);
  if (!isPicture(path) || !existsSync(join(root, path))) throw new Error(`${page}: there is no picture ${href}`);
  pictures.add(path);
  return wayTo(urlOf(path), urlOf(page));
}

/**
 * As GitHub does: letters, digits, hyphens and underscores in lower case, spaces as hyphens, a number for a repetition.
 */
function slugOf(text, slugs) {
  const slug = text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M} _-]/gu, '')
    .replace(/ /g, '-');
  const count = slugs.get(slug) ?? 0;
  slugs.set(slug, count + 1);
  return count === 0 ? slug : `${slug}-${count}`;
}

/** The text below each heading, for the search. */
function sectionsOf(tokens, headings) {
  const sections = [];
  let at = -1;
  for (const token of tokens) {
    if (token.type === 'heading') {
      at += 1;
      const { text, anchor } = headings[at];
      sections.push({ heading: text, anchor, text: '' });
    } else if (sections.length > 0) sections.at(-1).text += ` ${plain([token])}`;
  }
  return sections.map((section) => ({ ...section, text: section.text.replace(/\s+/g, ' ').trim() }));
}

function plain(tokens) {
  return tokens
    .map((token) => {
      if (token.type === 'table') {
        return [token.header, ...token.rows].flatMap((row) => row.map((cell) => plain(cell.tokens))).join(' ');
      }
      if (token.type === 'list') return token.items.map((item) => plain(item.tokens)).join(' ');
      if (token.type === 'html') return token.text.replace(/<[^>]*>/g, ' ');
      if (token.type === 'br') return ' ';
      return token.tokens === undefined ? (token.text ?? '') : plain(token.tokens);
    })
    .join('');
}

export function escaped(text) {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
