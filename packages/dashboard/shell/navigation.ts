import type { IconName } from '../../query/words/words.ts';

export interface Destination {
  path: string;
  label: string;
  icon: IconName;
  /** The second key after `g`. */
  key: string;
  /** On the bar of a phone. */
  short?: string;
}

export const MAIN: readonly Destination[] = [
  { path: '/', label: 'Overview', icon: 'overview', key: 'o', short: 'Overview' },
  { path: '/queues', label: 'Queues', icon: 'queues', key: 'q', short: 'Queues' },
  { path: '/jobs', label: 'Jobs', icon: 'jobs', key: 'j', short: 'Jobs' },
  { path: '/dead', label: 'Dead letters', icon: 'dead', key: 'd', short: 'Dead' },
  { path: '/actions', label: 'Actions', icon: 'actions', key: 't' },
  { path: '/alerts', label: 'Alerts', icon: 'failing', key: 'l' },
  { path: '/activity', label: 'Activity', icon: 'activity', key: 'a' },
];

export const SERVICE: readonly Destination[] = [
  { path: '/system', label: 'System', icon: 'system', key: 's' },
  { path: '/settings', label: 'Settings', icon: 'settings', key: 'e' },
];

/** `/jobs` is current on `/jobs/…`, too. */
export function isCurrent(path: string, location: string): boolean {
  if (path === '/queues' && location.startsWith('/receivers')) return true;
  return path === '/' ? location === '/' : location === path || location.startsWith(`${path}/`);
}
