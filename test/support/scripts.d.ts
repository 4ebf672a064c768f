/** Types of scripts that tests import, which are JavaScript. */

declare module '*/scripts/guide/build.mjs' {
  export function makeGuide(folder: string, dist: string): Promise<void>;
}

declare module '*/scripts/guide/pages.mjs' {
  export function pagesOf(root: string): string[];
}

declare module '*/scripts/guide/search-options.mjs' {
  import type MiniSearch from 'minisearch';
  import type { Options } from 'minisearch';
  export const OPTIONS: Options;
  export function find(index: MiniSearch, query: string): { url: string; title: string; heading: string }[];
}

declare module '*/scripts/release/version.mjs' {
  export function namedVersions(root: string): { file: string; version: string }[];
}
