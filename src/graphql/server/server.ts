import type { ServerFacts } from '../../services/server/facts.ts';
import { builder } from '../builder.ts';

const Server = builder.objectRef<ServerFacts>('Server').implement({
  description: 'The service that answers.',
  fields: (t) => ({
    version: t.exposeString('version', { description: 'Of Jobferry.' }),
    environment: t.exposeString('environment', { description: 'Such as `production`.' }),
    now: t.expose('now', { type: 'DateTime', description: 'The clock that decides every due time: the database’s.' }),
    retentionSeconds: t.exposeFloat('retentionSeconds', { description: 'How long jobs are kept after publication.' }),
    lifetimeSeconds: t.exposeFloat('lifetimeSeconds', { description: 'How long a job is delivered.' }),
    webhookTimeoutSeconds: t.exposeFloat('webhookTimeoutSeconds', { description: 'How long a webhook may take.' }),
  }),
});

builder.queryFields((t) => ({
  server: t.field({
    type: Server,
    description: 'The service that answers.',
    resolve: (_root, _args, { loaders }) => loaders.server(),
  }),
}));
