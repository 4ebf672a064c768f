import './progress.css';
import type { CSSProperties } from 'preact/compat';
import type { Signal } from '../../query/words/words.ts';

interface ProgressPart {
  value: number;
  signal: Signal;
}

/**
 * Shares of a whole, such as done and left out; the rest is to go. The numbers stand beside it, always. `isMeter` is
 * for what does not move towards an end, such as the use of a plan.
 */
export function ProgressBar({
  parts,
  whole,
  label,
  size,
  isMeter = false,
}: {
  parts: readonly ProgressPart[];
  whole: number;
  label: string;
  size?: 'big' | 'small';
  isMeter?: boolean;
}) {
  const sum = parts.reduce((total, { value }) => total + value, 0);
  // The whole is an estimate at times; a bar never says more than all.
  const all = Math.max(whole, sum, 1);
  const className = size === undefined ? 'progress' : `progress ${size}`;
  const shares = parts.map(
    ({ value, signal }) =>
      value > 0 && <i key={signal} className={signal} style={{ '--n': `${(value / all) * 100}%` } as CSSProperties} />,
  );
  if (isMeter) {
    return (
      <div className={className} role="img" aria-label={label}>
        {shares}
      </div>
    );
  }
  return (
    <div
      className={className}
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={all}
      aria-valuenow={sum}
    >
      {shares}
    </div>
  );
}
