import type { Express } from 'express';

/** What a process serves, by name, as paths below its base path. */
export type Places = Readonly<Record<string, string>>;

/** Returns what people and programs can open. A process without the API has only its health. */
export function placesOf(has: { api: boolean; graphql: boolean; dashboard: boolean }): Places {
  return {
    ...(has.dashboard && { dashboard: '' }),
    ...(has.api && { documentation: 'docs', openapi: 'openapi.json' }),
    ...(has.graphql && { graphql: 'graphql' }),
    health: 'healthz',
    readiness: 'readyz',
  };
}

/** Tells where everything is, to programs and, without a dashboard, to people. To be mounted after the dashboard. */
export function mountPlaces(app: Express, places: Places, basePath: string): void {
  const paths = Object.fromEntries(Object.entries(places).map(([name, path]) => [name, basePath + path]));
  app.get('/', (_req, res) => {
    res.json({ service: 'jobferry', paths });
  });
}
