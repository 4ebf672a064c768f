import { ofSettings } from '../../domain/queue-settings.ts';
import type { QueueTemplate as TemplateShape } from '../../services/queues/manage.ts';
import { builder } from '../builder.ts';
import { fieldOf } from './settings.ts';

const QueueTemplate = builder.objectRef<TemplateShape>('QueueTemplate').implement({
  description:
    'The settings that a new queue of the account gets from a template, or from the defaults, for the fields that `createQueue` leaves out. Durations are in seconds.',
  fields: (t) => ({
    name: t.exposeString('name', { nullable: true, description: 'Name of the template; null for the defaults.' }),
    ...ofSettings((setting, name) => t.field(fieldOf(setting, name))),
  }),
});

builder.queryFields((t) => ({
  queueTemplates: t.field({
    type: [QueueTemplate],
    description:
      'The defaults and the templates of new queues, with the settings that each gives, lowered to the ceilings of the plan of the account.',
    resolve: (_root, _args, { services, account }) => services.queues.templates(account),
  }),
}));
