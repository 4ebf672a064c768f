// Builds the guide: a static site of the documents, with a search that needs no server.
// `jobferry dev` serves it at /guide.
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import MiniSearch from 'minisearch';
import { build } from 'vite';
import { layoutOf } from './layout.mjs';
import { navigationOf } from './navigation.mjs';
import { pagesOf, urlOf } from './pages.mjs';
import { referencesOf } from './reference.mjs';
import { render } from './render.mjs';
import { OPTIONS } from './search-options.mjs';

const ROOT = join(import.meta.dirname, '../..');

/** Beside the references of commands and variables, which are documents. */
const REFERENCE = [
  { title: 'REST', page: 'reference/rest.md', hash: '', what: 'every operation, field and answer of REST' },
  {
    title: 'GraphQL',
    page: 'reference/graphql.md',
    hash: '',
    what: 'every query, mutation, type and field of GraphQL',
  },
];

/**
 * @param {string} folder a new folder for the site
 * @param {string} dist the compiled service, which has the contract
 */
export async function makeGuide(folder, dist) {
  // An image is built without the documents.
  if (!existsSync(join(ROOT, 'docs/README.md'))) return;
  const references = await referencesOf(ROOT, dist);
  const pages = [...pagesOf(ROOT), ...references.keys()];
  const navigation = [
    ...navigationOf(readFileSync(join(ROOT, 'docs/README.md'), 'utf8'), 'docs/README.md'),
    { title: 'Reference', pages: REFERENCE },
  ];
  const pictures = new Set();
  const sections = [];
  for (const page of pages) {
    const text = references.get(page) ?? readFileSync(join(ROOT, page), 'utf8');
    const rendered = render(text, { page, pages, pictures, root: ROOT });
    write(folder, urlOf(page), layoutOf({ ...rendered, page, navigation }));
    for (const { heading, anchor, text: words } of rendered.sections) {
      sections.push({ id: sections.length, url: urlOf(page) + anchor, title: rendered.title, heading, text: words });
    }
  }
  // The navigation has tasks in the words of people, so its entries are found, too.
  for (const { title, pages: entries } of navigation) {
    for (const { title: heading, page, hash, what } of entries) {
      sections.push({ id: sections.length, url: urlOf(page) + hash, title: `Guide: ${title}`, heading, text: what });
    }
  }
  for (const picture of pictures) {
    mkdirSync(join(folder, posix.dirname(urlOf(picture))), { recursive: true });
    cpSync(join(ROOT, picture), join(folder, urlOf(picture)));
  }
  const index = new MiniSearch(OPTIONS);
  index.addAll(sections);
  write(folder, 'search.json', JSON.stringify(index));
  cpSync(join(import.meta.dirname, 'page.css'), join(folder, 'page.css'));
  await bundle(folder);
  console.log(`guide: ${pages.length} pages, ${sections.length} sections to search`);
}

/** The script of every page, with the search library inside. */
async function bundle(folder) {
  await build({
    configFile: false,
    logLevel: 'warn',
    publicDir: false,
    build: {
      outDir: folder,
      emptyOutDir: false,
      target: 'es2022',
      lib: { entry: join(import.meta.dirname, 'page.mjs'), formats: ['es'], fileName: () => 'page.js' },
    },
  });
}

function write(folder, path, text) {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}
