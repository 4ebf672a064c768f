import './slots.css';
import { number } from '../../../../query/words/format.ts';

const WIDTH = 48;

/** Jobs in flight of all slots of a queue. `isTrouble`: all are busy, and jobs wait because of it. */
export function Slots({
  inFlight,
  concurrency,
  isTrouble = false,
}: {
  inFlight: number;
  concurrency: number;
  isTrouble?: boolean;
}) {
  const busy = inFlight === 0 ? 0 : Math.max(2, Math.min(1, inFlight / concurrency) * WIDTH);
  return (
    <span className={isTrouble ? 'slots full' : 'slots'}>
      <svg viewBox={`0 0 ${WIDTH} 8`} aria-hidden="true">
        <rect className="track" width={WIDTH} height="8" rx="2" />
        <rect className="busy" width={busy} height="8" rx="2" />
      </svg>
      <span>
        {number(inFlight)}
        <span className="q3">
          <span aria-hidden="true">/</span>
          <span className="sr"> of </span>
          {number(concurrency)}
        </span>
      </span>
    </span>
  );
}
