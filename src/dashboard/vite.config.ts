import { readFileSync } from 'node:fs';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

/** The server that `npm run dev:dashboard` passes requests to. */
const SERVER = process.env.JOBFERRY_URL ?? 'http://127.0.0.1:8080';
/** Development only: sent as a bearer key with every request, which takes the place of signing in. */
const API_KEY = process.env.JOBFERRY_API_KEY;

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/** Browsers with `light-dark()`, nesting and `popover`: what runs is what is written, without prefixes and fallbacks. */
const BROWSERS = ['chrome123', 'firefox125', 'safari17.5'];

/**
 * Nothing is painted before the script has set the theme, so a page that is dark by choice never flashes white. Such a
 * script would otherwise stand inline in the page, which the Content-Security-Policy forbids.
 */
const paintAfterTheme: Plugin = {
  name: 'paint-after-theme',
  transformIndexHtml: {
    order: 'post',
    handler: (html) => html.replace('<script type="module"', '<script type="module" blocking="render"'),
  },
};

export default defineConfig({
  root: import.meta.dirname,
  // Files are found relative to the page's <base>, so one build works behind every path prefix.
  base: './',
  plugins: [react(), paintAfterTheme],
  define: { __VERSION__: JSON.stringify(version) },
  build: {
    target: BROWSERS,
    cssTarget: BROWSERS,
    // scripts/dashboard/build.mjs passes the folder, measures what the manifest lists, and removes the manifest.
    manifest: true,
    // The policy allows no data: URL.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: {
    proxy: Object.fromEntries(
      // Whole paths: `/graphql/query.ts` and `/session.ts` are scripts of the page.
      ['^/graphql$', '^/session(/.*)?$', '^/v1/'].map((path) => [
        path,
        {
          target: SERVER,
          changeOrigin: true,
          headers: { origin: SERVER, ...(API_KEY === undefined ? {} : { authorization: `Bearer ${API_KEY}` }) },
        },
      ]),
    ),
  },
});
