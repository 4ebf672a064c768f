import './bars.css';
import type { CSSProperties } from 'react';
import { number } from '../model/format.ts';

export interface Depth {
  due: number;
  scheduled: number;
  retrying: number;
  held: number;
  processing: number;
  awaitingAck: number;
}

/** In the order in which they are drawn. */
export const DEPTH_PARTS: readonly (readonly [part: keyof Depth, word: string, className: string])[] = [
  ['due', 'due', 'due'],
  ['scheduled', 'scheduled', 'scheduled'],
  ['retrying', 'retrying', 'warn'],
  ['held', 'held', 'hold'],
  ['processing', 'processing', 'run'],
  ['awaitingAck', 'awaiting ack', 'ack'],
];

const variable = (name: string, value: number | string) => ({ [name]: value }) as CSSProperties;

/**
 * Open jobs by state, in fixed order. With `longest`, the sum of the longest queue of a list, the bar's length is the
 * logarithm of its own sum. The number stands beside it, always.
 */
export function DepthBar({ depth, longest, isBig = false }: { depth: Depth; longest?: number; isBig?: boolean }) {
  const parts = DEPTH_PARTS.filter(([part]) => depth[part] > 0);
  const sum = parts.reduce((total, [part]) => total + depth[part], 0);
  const share = longest === undefined || longest <= 1 ? 1 : Math.log2(1 + sum) / Math.log2(1 + longest);
  const label = parts.length === 0 ? 'empty' : parts.map(([part, word]) => `${number(depth[part])} ${word}`).join(', ');
  return (
    <span
      className={isBig ? 'depth big' : 'depth'}
      role="img"
      aria-label={label}
      title={label}
      style={{ inlineSize: `${share * 100}%` }}
    >
      {parts.map(([part, , className]) => (
        <i key={part} className={className} style={variable('--n', depth[part])} />
      ))}
    </span>
  );
}

export interface SparkPoint {
  success: number;
  failed: number;
  deferred: number;
}

const SPARK = { width: 128, height: 24 };

/** Outcomes over time: success grey, failed red, deferred violet, stacked. `label` is one sentence. */
export function Sparkline({ points, label }: { points: readonly SparkPoint[]; label: string }) {
  const max = Math.max(1, ...points.map(({ success, failed, deferred }) => success + failed + deferred));
  const width = SPARK.width / Math.max(1, points.length);
  return (
    <svg
      className="spark"
      viewBox={`0 0 ${SPARK.width} ${SPARK.height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {points.flatMap((point, index) => {
        let y = SPARK.height;
        return (['success', 'failed', 'deferred'] as const).flatMap((part) => {
          if (point[part] === 0) return [];
          // What is there can be seen, however little it is.
          const height = Math.max(1, (point[part] / max) * SPARK.height);
          y -= height;
          const at = { x: index * width, y, width: Math.max(0.5, width - 0.75), height };
          return [<rect key={`${index} ${part}`} className={part === 'success' ? 'work' : part} {...at} />];
        });
      })}
    </svg>
  );
}

/** A bar of shares of a whole, such as done, left out and to go. */
export function ProgressBar({
  parts,
  whole,
  label,
}: {
  parts: readonly { value: number; signal: 'ok' | 'run' | 'idle' | 'bad' | 'warn' }[];
  whole: number;
  label: string;
}) {
  const done = parts.reduce((sum, { value }) => sum + value, 0);
  return (
    <div
      className="progress"
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={whole}
      aria-valuenow={done}
    >
      {parts.map(({ value, signal }) => (
        <i key={signal} className={signal} style={variable('--n', `${whole === 0 ? 0 : (value / whole) * 100}%`)} />
      ))}
    </div>
  );
}

/** Busy slots of a queue: 7 of 20, as a bar that is amber when it is full. */
export function Slots({ inFlight, concurrency }: { inFlight: number; concurrency: number }) {
  const share = Math.min(1, inFlight / Math.max(1, concurrency));
  return (
    <span className={share === 1 ? 'slots full' : 'slots'}>
      {number(inFlight)} of {number(concurrency)}
      <svg viewBox="0 0 56 8" preserveAspectRatio="none" aria-hidden="true">
        <rect className="track" width="56" height="8" rx="2" />
        <rect width={56 * share} height="8" rx="2" />
      </svg>
    </span>
  );
}
