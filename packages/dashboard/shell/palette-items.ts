import { JOBS } from '../../query/filter/jobs.ts';
import { attemptsPath, jobsPath, queuePath, queuesPath, receiverPath } from '../../query/filter/links.ts';
import { conditionsInWords, conditionsOf, queueSearchOf } from '../../query/filter/queue-search.ts';
import { pathOfView } from '../../query/filter/saved-views.ts';
import { type Known, suggestionsFor } from '../../query/filter/suggest.ts';
import { isJobId, shortId } from '../../query/words/job-id.ts';
import { may, type Rights } from '../../query/words/rights.ts';
import type { IconName } from '../../query/words/words.ts';
import type { SavedView } from '../api/operations/saved-views.ts';
import type { Command } from '../parts/page/keys.ts';
import { MAIN, SERVICE } from './navigation.ts';

interface Item {
  id: string;
  group: 'Favourites' | 'Job' | 'Do' | 'Go to' | 'Saved views' | 'Queues' | 'Jobs';
  label: string;
  icon: IconName;
  hint: string;
}
type PaletteItem = Item & ({ path: string } | { run: () => void } | { text: string });

/** The server's knowledge of the text, and the moment to which times in words refer. */
interface Offered {
  known: Known;
  now: number;
}

export interface Found {
  id: string;
  name: string;
  paused: boolean;
  webhookUrl: string;
  tags: readonly string[];
  /** The text that misspells its name. */
  meantBy?: string;
}

/** As the server searches: an old answer may have other queues. */
function isFound({ name, webhookUrl, tags, meantBy }: Found, text: string): boolean {
  if (meantBy === text) return true;
  const { search, tags: wanted } = queueSearchOf(text);
  const hasText = search === null || name.includes(search) || webhookUrl.toLowerCase().includes(search);
  return hasText && conditionsOf(text) === null && (wanted === null || wanted.some((tag) => tags.includes(tag)));
}

/** Favourites and actions of the person. */
interface Own {
  favourites?: readonly string[];
  setPaused?: (queue: Found, isPaused: boolean) => void;
}

/** The offers of the palette for a text, best first: at most a screenful. */
export function paletteItems(
  text: string,
  commands: readonly Command[],
  queues: readonly Found[],
  rights: Rights | null,
  views: readonly SavedView[] = [],
  offered: Offered = { known: { queues: [], paths: [], values: [] }, now: 0 },
  { favourites = [], setPaused }: Own = {},
): PaletteItem[] {
  const isCommandsOnly = text.trimStart().startsWith('>');
  const wanted = text.replace('>', '').trim().toLowerCase();
  const matches = (label: string) => label.toLowerCase().includes(wanted);

  const actions: PaletteItem[] = commands
    .filter(({ label, isOnlyKey }) => isOnlyKey !== true && matches(label))
    .map(({ label, icon = 'actions', key = '', run }) => ({
      id: `do ${label}`,
      group: 'Do',
      label,
      icon,
      hint: key,
      run,
    }));
  if (isCommandsOnly) {
    const ofQueues = pauses(text, queues, rights, setPaused);
    return queueActionOf(text)?.name ? [...ofQueues, ...actions] : [...actions, ...ofQueues];
  }

  const places: PaletteItem[] = [...MAIN, ...SERVICE]
    .filter(({ label }) => matches(label))
    .map(({ label, icon, key, path }) => ({ id: `go ${path}`, group: 'Go to', label, icon, hint: `g ${key}`, path }));
  const saved = views.flatMap((view): PaletteItem[] => {
    const path = pathOfView(view);
    if (path === null || !matches(view.name)) return [];
    const hint = view.page === 'JOBS' ? 'Jobs' : 'Dead letters';
    return [{ id: `view ${view.id}`, group: 'Saved views', label: view.name, icon: 'list', hint, path }];
  });
  const found: PaletteItem[] = queues
    .filter((queue) => isFound(queue, wanted))
    .map(({ name, paused }) => ({
      id: `queue ${name}`,
      group: 'Queues',
      label: name,
      icon: 'queues',
      hint: paused ? 'paused' : '',
      path: queuePath(name),
    }));
  const hosts = offered.known.hosts ?? hostsWith(wanted, queues);
  const first = wanted === '' ? favourites.map(favourite) : [];
  return [
    ...first,
    ...jobOf(wanted),
    ...actions,
    ...places,
    ...saved,
    // A whole host is meant itself, and not one of its queues.
    ...(hosts.includes(wanted) ? [...receivers(hosts), ...found] : [...found, ...receivers(hosts)]),
    ...conditions(wanted),
    ...jobsWith(text.trim(), offered, rights),
  ];
}

function favourite(name: string): PaletteItem {
  return { id: `favourite ${name}`, group: 'Favourites', label: name, icon: 'star', hint: '', path: queuePath(name) };
}

const VERBS = ['pause', 'resume'] as const;

/** The verb that a command begins with, and the part of a queue's name after it; null for other commands. */
export function queueActionOf(text: string): { verb: (typeof VERBS)[number]; name: string } | null {
  const [, typed = '', name = ''] = text.toLowerCase().match(/^\s*>\s*([a-z]{2,})(?:\s+(\S*))?\s*$/) ?? [];
  const verb = VERBS.find((one) => (name === '' ? one.startsWith(typed) && typed !== '' : one === typed));
  return verb === undefined ? null : { verb, name };
}

/**
 * Queues by name for `>pause` and `>resume`: those that are not paused, and those that are.
 * A receiver's page has the button for all of its queues.
 */
function pauses(
  text: string,
  queues: readonly Found[],
  rights: Rights | null,
  setPaused: Own['setPaused'],
): PaletteItem[] {
  const action = queueActionOf(text);
  if (action === null || setPaused === undefined || !may(rights, `${action.verb}Queue`)) return [];
  const isPause = action.verb === 'pause';
  const verb = isPause ? 'Pause' : 'Resume';
  const item = (id: string, label: string) =>
    ({ id: `${action.verb} ${id}`, group: 'Do', hint: '', icon: isPause ? 'pause' : 'play', label }) as const;
  return [
    ...queues
      .filter(
        ({ name, paused, meantBy }) => paused !== isPause && (name.includes(action.name) || meantBy === action.name),
      )
      .map((queue) => ({ ...item(queue.name, `${verb} ${queue.name}`), run: () => setPaused(queue, isPause) })),
    ...hostsWith(action.name, queues).map((host) => ({
      ...item(`all of ${host}`, `${verb} the queues of ${host}…`),
      // The page opens the question of the action.
      path: `${receiverPath(host)}#${action.verb}`,
    })),
  ];
}

function jobOf(text: string): PaletteItem[] {
  if (!isJobId(text)) return [];
  return [
    { id: 'job', group: 'Job', label: `Open job ${shortId(text)}`, icon: 'jobs', hint: '', path: `/jobs/${text}` },
  ];
}

/** Hosts with the text to which queues deliver. They are found by their address, too. */
function hostsWith(text: string, queues: readonly Found[]): string[] {
  if (text === '') return [];
  return [...new Set(queues.map(({ webhookUrl }) => new URL(webhookUrl).host))].filter((host) => host.includes(text));
}

/** The pages of hosts. */
const receivers = (hosts: readonly string[]) =>
  hosts.map((host): PaletteItem => {
    return {
      id: `receiver ${host}`,
      group: 'Queues',
      label: host,
      icon: 'send',
      hint: 'receiver',
      path: receiverPath(host),
    };
  });

/** Queues in a condition by words of people, and what else is slow. */
function conditions(text: string): PaletteItem[] {
  if (text.length < 3) return [];
  const item = (label: string, hint: string, path: string): PaletteItem => ({
    id: `is ${label}`,
    group: 'Queues',
    label,
    icon: 'queues',
    hint,
    path,
  });
  return [
    ...conditionsInWords(text).map(([search, word]) => item(`Queues: ${word}`, search, queuesPath(search))),
    ...('slow'.startsWith(text) ? [item('Attempts: longer than 5 s', '', attemptsPath({ took: '5s' }))] : []),
  ];
}

/** Conditions as the filter of jobs offers them: values of payloads, states and times in words, keys and errors. */
function jobsWith(text: string, { known, now }: Offered, rights: Rights | null): PaletteItem[] {
  if (text.length < 2 || isJobId(text)) return [];
  return suggestionsFor(JOBS, text, known, { rights, now }).flatMap(({ id, label, hint, does }): PaletteItem[] => {
    const item = { id: `jobs ${id}`, group: 'Jobs', label: `Jobs: ${label}`, icon: 'search', hint } as const;
    if ('chips' in does) return [{ ...item, path: jobsPath(does.chips) }];
    // The start of a condition goes on in the palette.
    return 'text' in does && does.text !== text ? [{ ...item, text: does.text }] : [];
  });
}
