// The script of every page of the guide: the search, buttons that copy code,
// and a menu that is open where there is room.
import MiniSearch from 'minisearch';
import { find, OPTIONS } from './search-options.mjs';

const root = document.body.dataset.root;
const MAX_RESULTS = 12;

const menu = document.querySelector('details.menu');
const wide = matchMedia('(min-width: 60rem)');
const showMenu = () => {
  menu.open = wide.matches;
};
wide.addEventListener('change', showMenu);
showMenu();

for (const block of document.querySelectorAll('pre.code')) {
  const button = Object.assign(document.createElement('button'), {
    type: 'button',
    className: 'copy',
    textContent: 'Copy',
  });
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(block.querySelector('code').textContent);
    button.textContent = 'Copied';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 2000);
  });
  block.append(button);
}

const dialog = document.createElement('dialog');
dialog.setAttribute('aria-label', 'Search the guide');
dialog.innerHTML =
  '<input type="search" placeholder="What do you want to do?" aria-label="Search the guide" autocomplete="off" spellcheck="false"><p role="status"></p><ol></ol>';
document.body.append(dialog);
const [input, status, list] = dialog.children;

let index = null;
const loadIndex = () => {
  index ??= fetch(`${root}/search.json`)
    .then((response) => response.text())
    .then((text) => MiniSearch.loadJSON(text, OPTIONS))
    .catch(() => {
      index = null;
      return null;
    });
  return index;
};

function open() {
  if (!dialog.open) dialog.showModal();
  input.select();
  loadIndex();
}

/** The last input counts: an index that arrives late must not show what was asked before. */
async function show() {
  const query = input.value.trim();
  const loaded = await loadIndex();
  if (query !== input.value.trim()) return;
  const found = loaded === null || query === '' ? [] : find(loaded, query).slice(0, MAX_RESULTS);
  status.textContent = saying(loaded, query, found.length);
  list.replaceChildren(
    ...found.map(({ url, title, heading }) => {
      const link = Object.assign(document.createElement('a'), { href: `${root}/${url}` });
      link.append(Object.assign(document.createElement('b'), { textContent: heading }));
      if (heading !== title) link.append(` ${title}`);
      const item = document.createElement('li');
      item.append(link);
      return item;
    }),
  );
}

function saying(loaded, query, count) {
  if (loaded === null) return 'The index could not be loaded. Try again.';
  if (query === '') return '';
  return count === 0 ? 'Nothing found. Try another word.' : '';
}

input.addEventListener('input', show);
dialog.addEventListener('keydown', (event) => {
  const links = [...list.querySelectorAll('a')];
  const at = links.indexOf(document.activeElement);
  if (event.key === 'Enter' && at < 0 && links.length > 0) links[0].click();
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
  event.preventDefault();
  const next = event.key === 'ArrowDown' ? at + 1 : at - 1;
  (links[next] ?? input).focus();
});
dialog.addEventListener('click', (event) => {
  // A link to the page itself loads nothing, and a click beside the dialog is on its backdrop.
  if (event.target === dialog || event.target.closest('a') !== null) dialog.close();
});
document.querySelector('button.search').addEventListener('click', open);
document.addEventListener('keydown', (event) => {
  const isTyping = /^(INPUT|TEXTAREA)$/.test(event.target.tagName);
  const isKey = (event.key === '/' && !isTyping) || (event.key === 'k' && (event.ctrlKey || event.metaKey));
  if (!isKey) return;
  event.preventDefault();
  open();
});
