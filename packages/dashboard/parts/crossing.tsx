import './crossing.css';
import { type CSSProperties, useState } from 'preact/compat';
import { useView } from '../base/time.ts';
import { PHONE, useMedia } from '../base/use-media.ts';
import { crossingOf, type Leg, type Part, type Stop } from '../words/crossing.ts';
import type { JobWhole } from '../words/job.ts';
import { Icon } from './icon.tsx';

/** The course of a job, from left to right; downwards on a phone and in the peek panel. */
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
        <CrossingPart
          key={keyOf(part, index)}
          part={part}
          before={parts[index - 1]}
          after={parts[index + 1]}
          onMore={() => setWhole(true)}
        />
      ))}
    </ol>
  );
}

const keyOf = (part: Part, index: number) => `${index} ${part.kind}`;

interface Neighbours {
  before: Part | undefined;
  after: Part | undefined;
}

function CrossingPart({ part, onMore, ...neighbours }: { part: Part; onMore: () => void } & Neighbours) {
  switch (part.kind) {
    case 'stop':
      return <StopItem stop={part} {...neighbours} />;
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

/**
 * A stop is as wide as its words, and the lines of its neighbours go on within it up to the pin.
 * So no words can overlap.
 */
function StopItem({ stop: { label, whole, sub, icon, signal, isLater }, before, after }: { stop: Stop } & Neighbours) {
  return (
    <li className={`stop ${isLater ? 'later' : (signal ?? '')}`}>
      {before?.kind === 'leg' && <i className={`before ${classesOf(before)}`} />}
      {after?.kind === 'leg' && <i className={`after ${classesOf(after)}`} />}
      <span className="pin">
        <Icon name={icon} />
      </span>
      <b title={whole}>{label}</b>
      <small>{sub}</small>
    </li>
  );
}

function LegItem({ leg }: { leg: Leg }) {
  const classes = `${leg.isCut ? 'leg cutoff' : 'leg'} ${classesOf(leg)}`;
  return (
    <li className={classes} style={{ '--w': leg.weight } as CSSProperties}>
      <i />
      <span title={leg.label}>{leg.label}</span>
    </li>
  );
}

function classesOf({ signal, isWait, isSlow, isLater }: Leg): string {
  const classes = [signal, isWait && 'wait', isSlow && 'slow', isLater && 'later'];
  return classes.filter(Boolean).join(' ');
}
