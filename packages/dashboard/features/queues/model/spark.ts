import { many, number } from '../../../../query/words/format.ts';
import { type Comparison, pointsThen, thenText } from '../../../words/comparison.ts';
import { attemptsIn, type Point } from './timeline.ts';

/** A sentence for a sparkline, for those who do not see it. */
export function sparkSentence(points: readonly Point[], span: string): string {
  const all = points.reduce((sum, point) => sum + attemptsIn(point), 0);
  const failed = points.reduce((sum, point) => sum + point.failed + point.nacked, 0);
  const deferred = points.reduce((sum, { deferred: put }) => sum + put, 0);
  const changed = points.reduce((sum, { changed: count = 0 }) => sum + count, 0);
  const end = changed === 0 ? '' : ` Its settings were changed ${many(changed, 'time')}.`;
  if (all === 0) return `No attempt in ${span}.${end}`;
  const parts = [
    ...(failed === 0 ? [] : [`${number(failed)} failed`]),
    ...(deferred === 0 ? [] : [`${number(deferred)} deferred`]),
  ];
  return `${many(all, 'attempt')} in ${span}, ${parts.length === 0 ? 'none failed' : parts.join(', ')}.${end}`;
}

/** The attempts of an earlier time at the bars of a sparkline, and a sentence for those who do not see them. */
export function sparkThen(points: readonly Point[], then: readonly Point[], comparison: Comparison) {
  const times = points.map(({ at }) => Date.parse(at));
  const values = pointsThen(times, then, comparison).map((point) => (point === undefined ? null : attemptsIn(point)));
  return { values, sentence: thenText(values, 'attempt', comparison) };
}
