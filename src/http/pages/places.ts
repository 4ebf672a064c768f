import type { Express } from 'express';

/** The pages that a process serves, by name, as paths below its base path. */
export type Places = Readonly<Record<string, string>>;

/** The parts of a process; null or undefined for those that it does not have. */
type Parts = Readonly<Partial<Record<'services' | 'graphql' | 'dashboard' | 'guide' | 'metrics', unknown>>>;

/** Returns what people and programs can open. A process without the API has only its health and its metrics. */
export function placesOf(parts: Parts): Places {
  const has = (part: unknown) => part !== null && part !== undefined;
  return {
    ...(has(parts.dashboard) && { dashboard: '' }),
    ...(has(parts.services) && { documentation: 'docs', openapi: 'openapi.json' }),
    ...(has(parts.graphql) && { graphql: 'graphql' }),
    ...(has(parts.guide) && { guide: 'guide/' }),
    health: 'healthz',
    readiness: 'readyz',
    ...(has(parts.metrics) && { metrics: 'metrics' }),
  };
}

/** Tells where everything is, to programs and, without a dashboard, to people. To be mounted after the dashboard. */
export function mountPlaces(app: Express, places: Places, basePath: string): void {
  const paths = Object.fromEntries(Object.entries(places).map(([name, path]) => [name, basePath + path]));
  app.get('/', (_req, res) => {
    res.json({ service: 'jobferry', paths });
  });
}
