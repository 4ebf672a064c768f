// The frame of each page: navigation, contents, search. It has no script or style of its own,
// for its content security policy.
import { posix } from 'node:path';
import { urlOf, wayTo } from './pages.mjs';
import { escaped } from './render.mjs';

export function layoutOf({ html, title, headings, page, navigation }) {
  const url = urlOf(page);
  const up = posix.relative(posix.dirname(url), '.') || '.';
  const contents = headings.filter(({ depth }) => depth === 2 || depth === 3);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)} – Jobferry</title>
<link rel="stylesheet" href="${up}/page.css">
<script type="module" src="${up}/page.js"></script>
</head>
<body data-root="${up}">
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="home" href="${up}/index.html">Jobferry <span>guide</span></a>
<button type="button" class="search" aria-haspopup="dialog">Search <kbd>/</kbd></button>
</header>
<div class="frame">
<nav aria-label="Guide">
<details class="menu" open><summary>All pages</summary>
${navigation.map((group) => groupOf(group, page, url)).join('\n')}
</details>
</nav>
<main id="content" tabindex="-1">
${html}</main>
${contents.length > 1 ? contentsOf(contents) : ''}
</div>
</body>
</html>
`;
}

function groupOf({ title, pages }, page, url) {
  const items = pages.map((one) => {
    const current = one.page === page && one.hash === '' ? ' aria-current="page"' : '';
    return `<li><a href="${wayTo(urlOf(one.page), url)}${one.hash}"${current}>${escaped(one.title)}</a></li>`;
  });
  return `<h2>${escaped(title)}</h2>\n<ul>\n${items.join('\n')}\n</ul>`;
}

function contentsOf(headings) {
  const items = headings.map(
    ({ depth, text, anchor }) => `<li class="depth-${depth}"><a href="${anchor}">${escaped(text)}</a></li>`,
  );
  return `<aside aria-label="On this page">\n<h2>On this page</h2>\n<ul>\n${items.join('\n')}\n</ul>\n</aside>`;
}
