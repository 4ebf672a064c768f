import './crossing.css';
import { useState, useSyncExternalStore } from 'react';
import { crossingOf, type Leg, type Part, type Stop } from '../model/crossing.ts';
import type { JobWhole } from '../model/job.ts';
import { useView } from '../time.ts';
import { Icon } from './icon.tsx';

const PHONE = '(max-width: 45.99rem)';

/** What happened to a job, from left to right; downwards on a phone and in the peek panel. */
export function Crossing({
  job,
  webhookTimeoutSeconds,
  isDown = false,
}: {
  job: JobWhole;
  webhookTimeoutSeconds: number;
  isDown?: boolean;
}) {
  const view = useView();
  const [isWhole, setWhole] = useState(false);
  const isPhone = useMedia(PHONE);
  const parts = crossingOf(job, { ...view, webhookTimeoutSeconds }, isWhole);
  return (
    <ol
      className={isDown || isPhone ? 'crossing down' : 'crossing'}
      aria-label="What happened to this job, in order; long waits are drawn shorter"
    >
      {parts.map((part, index) => (
        <CrossingPart key={keyOf(part, index)} part={part} onMore={() => setWhole(true)} />
      ))}
    </ol>
  );
}

const keyOf = (part: Part, index: number) => `${index} ${part.kind}`;

function CrossingPart({ part, onMore }: { part: Part; onMore: () => void }) {
  switch (part.kind) {
    case 'stop':
      return <StopItem stop={part} />;
    case 'leg':
      return <LegItem leg={part} />;
    case 'now':
      return (
        <li className="now">
          <i />
          <b>now</b>
        </li>
      );
    case 'more':
      return (
        <li className="more">
          <button type="button" className="btn tiny" onClick={onMore}>
            {part.count} more attempts
          </button>
        </li>
      );
  }
}

function StopItem({ stop: { label, sub, icon, signal, isLater } }: { stop: Stop }) {
  return (
    <li className={`stop ${isLater ? 'later' : (signal ?? '')}`}>
      <span className="pin">
        <Icon name={icon} />
      </span>
      <b>{label}</b>
      <small>{sub}</small>
    </li>
  );
}

function LegItem({ leg }: { leg: Leg }) {
  const classes = [
    ...['leg', leg.signal ?? '', leg.isWait ? 'wait' : '', leg.isSlow ? 'slow' : ''],
    ...[leg.isLater ? 'later' : '', leg.isCut ? 'cutoff' : ''],
  ];
  return (
    <li className={classes.filter(Boolean).join(' ')} style={{ '--w': leg.weight } as React.CSSProperties}>
      <span>{leg.label}</span>
    </li>
  );
}

/** Whether a media query matches, kept current. */
export function useMedia(media: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const list = matchMedia(media);
      list.addEventListener('change', listener);
      return () => list.removeEventListener('change', listener);
    },
    () => matchMedia(media).matches,
  );
}
