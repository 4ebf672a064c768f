import type { Service } from '../../process/start.ts';

const LABELS: Readonly<Record<string, string>> = {
  dashboard: 'dashboard',
  documentation: 'REST API',
  graphql: 'GraphQL',
  guide: 'guide',
};

/** Addresses that people can open, one line each; nothing for a worker. */
export function listOfPlaces({ address, places }: Pick<Service, 'address' | 'places'>): string {
  if (address === null) return '';
  const shown = Object.entries(places).filter(([name]) => LABELS[name] !== undefined);
  const lines = shown.map(([name, path]) => ({ url: new URL(path, address).href, label: LABELS[name] }));
  const width = Math.max(34, ...lines.map(({ url }) => url.length));
  return lines.map(({ url, label }) => `\n  ${url.padEnd(width)}  ${label}`).join('');
}
