import './depth-bar.css';
import type { CSSProperties } from 'preact/compat';
import { number } from '../../../../query/words/format.ts';
import { type Depth, type Jobs, openJobs } from '../model/queue-condition.ts';

/** In the order in which they are drawn, with the class that has their colour. */
const STATES: readonly (readonly [state: keyof Jobs, word: string, className: string])[] = [
  ['due', 'due', 'due'],
  ['scheduled', 'scheduled', 'scheduled'],
  ['retrying', 'retrying', 'warn'],
  ['held', 'held', 'hold'],
  ['processing', 'processing', 'run'],
  ['awaitingAck', 'awaiting ack', 'ack'],
];

/**
 * Open jobs by state, in fixed order. In a list, `longest` is the sum of the fullest queue, and the length grows with
 * the logarithm of the sum; alone, the bar is as wide as its place. Their number stands beside the bar, always.
 */
export function DepthBar({ depth, longest, isBig = false }: { depth: Depth; longest?: number; isBig?: boolean }) {
  const states = STATES.filter(([state]) => depth[state] > 0);
  const label = states.map(([state, word]) => `${number(depth[state])} ${word}`).join(', ');
  const share = longest === undefined ? 1 : Math.log(1 + openJobs({ depth })) / Math.log(1 + Math.max(longest, 1));
  return (
    <span
      className={isBig ? 'depth big' : 'depth'}
      role="img"
      aria-label={label === '' ? 'No open job' : label}
      title={label}
      style={{ inlineSize: `${(share * 100).toFixed(1)}%` }}
    >
      {states.map(([state, , className]) => (
        <i key={state} className={className} style={{ '--n': depth[state] } as CSSProperties} />
      ))}
    </span>
  );
}

/** The legend of the colours. The bars have texts for those who do not see them. */
export function DepthLegend({ className = '' }: { className?: string }) {
  return (
    <span className={`legend ${className}`} aria-hidden="true">
      {STATES.map(([state, word, signal]) => (
        <span key={state}>
          <i className={`dot depth-key ${signal}`} />
          {word}
        </span>
      ))}
    </span>
  );
}
