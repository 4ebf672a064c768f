/** First parts of paths that Jobferry serves besides the dashboard. The dashboard and PUBLIC_URL must not hide them. */
export const OWN_PATHS: readonly string[] = [
  'v1',
  'graphql',
  'docs',
  'guide',
  'openapi.json',
  'healthz',
  'readyz',
  'report',
  'session',
  'assets',
];
