import type { ServerFacts } from '../../services/server/facts.ts';
import { builder } from '../builder.ts';

const Server = builder.objectRef<ServerFacts>('Server').implement({
  description: 'The Jobferry service.',
  fields: (t) => ({
    version: t.exposeString('version', { description: 'Version of Jobferry.' }),
    environment: t.exposeString('environment', { description: 'Name of the environment, such as `production`.' }),
    now: t.expose('now', {
      type: 'DateTime',
      description: 'Time of the database’s clock, which decides when jobs are due.',
    }),
    retentionSeconds: t.exposeFloat('retentionSeconds', {
      description: 'Time for which a job is kept after its publish, in seconds.',
    }),
    lifetimeSeconds: t.exposeFloat('lifetimeSeconds', {
      description: 'Time from a job’s first `scheduledFor` in which it can be delivered, in seconds.',
    }),
    webhookTimeoutSeconds: t.exposeFloat('webhookTimeoutSeconds', {
      description: 'Time in which a webhook must answer, in seconds.',
    }),
  }),
});

builder.queryFields((t) => ({
  server: t.field({
    type: Server,
    description: 'The Jobferry service: version, clock and time limits.',
    resolve: (_root, _args, { loaders }) => loaders.server(),
  }),
}));
