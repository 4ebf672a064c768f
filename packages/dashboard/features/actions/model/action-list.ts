import { many, time, type View } from '../../../../query/words/format.ts';
import { type Phrase, phrase } from '../../../words/phrase.ts';
import { type ActionState, sentenceOfAction, wordsOfKind } from './action.ts';

/** The first line of the list of actions: what runs, here or on other pages, else how the last one ended. */
export function sentenceOfActions(
  actions: readonly (ActionState & { queue: { name: string } | null })[],
  isFirstPage: boolean,
  view: View,
  elsewhere = 0,
): Phrase {
  const running = actions.filter(({ status }) => status === 'RUNNING');
  const [only] = running;
  if (only !== undefined && running.length + elsewhere === 1) {
    const { noun, others } = wordsOfKind(only.kind);
    const progress = sentenceOfAction(only, { rate: null, stoppedBy: null });
    return phrase`The ${noun} of ${only.queue?.name ?? others} is running. ${progress}`;
  }
  const all = running.length + elsewhere;
  if (all > 0) return phrase`${many(all, 'action is', 'actions are')} running.`;
  const [last] = actions;
  if (last === undefined) return phrase`No action is running.`;
  if (!isFirstPage) return phrase`Earlier actions.`;
  const end = Date.parse(last.finishedAt ?? last.updatedAt);
  const { noun, others } = wordsOfKind(last.kind);
  const how = { COMPLETED: 'ended', CANCELLED: 'was stopped', FAILED: 'failed', PAUSED: 'was paused', RUNNING: 'runs' }[
    last.status
  ];
  return phrase`No action is running. The last one, the ${noun} of ${last.queue?.name ?? others}, ${how} at ${{ at: end, text: time(end, view) }}.`;
}
