import type { SavedView } from '../api/operations/saved-views.ts';
import { JOBS } from '../filter/jobs.ts';
import { jobsPath, queuePath } from '../filter/links.ts';
import { pathOfView } from '../filter/saved-views.ts';
import { type Known, suggestionsFor } from '../filter/suggest.ts';
import type { Command } from '../parts/page/keys.ts';
import { isJobId, shortId } from '../words/job-id.ts';
import type { Rights } from '../words/rights.ts';
import type { IconName } from '../words/words.ts';
import { MAIN, SERVICE } from './navigation.ts';

interface Item {
  id: string;
  group: 'Job' | 'Do' | 'Go to' | 'Saved views' | 'Queues' | 'Jobs';
  label: string;
  icon: IconName;
  hint: string;
}
export type PaletteItem = Item & ({ path: string } | { run: () => void });

/** The server's knowledge of the text, and the moment to which times in words refer. */
interface Asked {
  known: Known;
  now: number;
}

/** The offers of the palette for a text, best first: at most a screenful. */
export function paletteItems(
  text: string,
  commands: readonly Command[],
  queues: readonly { name: string; paused: boolean }[],
  rights: Rights | null,
  views: readonly SavedView[] = [],
  asked: Asked = { known: { queues: [], paths: [], values: [] }, now: 0 },
): PaletteItem[] {
  const isCommandsOnly = text.trimStart().startsWith('>');
  const wanted = text.replace('>', '').trim().toLowerCase();
  const matches = (label: string) => label.toLowerCase().includes(wanted);

  const deeds: PaletteItem[] = commands
    .filter(({ label, isOnlyKey }) => isOnlyKey !== true && matches(label))
    .map(({ label, icon = 'actions', key = '', run }) => ({
      ...{ id: `do ${label}`, group: 'Do', label, icon, hint: key, run },
    }));
  if (isCommandsOnly) return deeds;

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
    .filter(({ name }) => matches(name))
    .map(({ name, paused }) => ({
      id: `queue ${name}`,
      group: 'Queues',
      label: name,
      icon: 'queues',
      hint: paused ? 'paused' : '',
      path: queuePath(name),
    }));
  return [...jobOf(wanted), ...deeds, ...places, ...saved, ...found, ...jobsWith(text.trim(), asked, rights)];
}

function jobOf(text: string): PaletteItem[] {
  if (!isJobId(text)) return [];
  return [
    { id: 'job', group: 'Job', label: `Open job ${shortId(text)}`, icon: 'jobs', hint: '', path: `/jobs/${text}` },
  ];
}

/** Conditions as the filter of jobs offers them: values of payloads, states and times in words, keys and errors. */
function jobsWith(text: string, { known, now }: Asked, rights: Rights | null): PaletteItem[] {
  if (text.length < 2 || isJobId(text)) return [];
  return suggestionsFor(JOBS, text, known, { rights, now }).flatMap(({ id, label, hint, does }): PaletteItem[] =>
    'chip' in does
      ? [
          {
            id: `jobs ${id}`,
            group: 'Jobs',
            label: `Jobs: ${label}`,
            icon: 'search',
            hint,
            path: jobsPath([does.chip]),
          },
        ]
      : [],
  );
}
