import type { Settings } from '../../packages/dashboard/features/queues/model/queue-settings.ts';
import { ofSettings } from '../../src/domain/queue-settings.ts';

/** The settings of a queue with the defaults, as GraphQL shows them. */
export const SHOWN_DEFAULTS = ofSettings(({ kind, default: value }) =>
  kind === 'choice' ? value.toUpperCase() : value,
) as Omit<Settings, 'webhookUrl' | 'tags'>;
