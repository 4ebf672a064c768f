import type { CSSProperties } from 'preact/compat';
import { Link } from 'wouter-preact';
import type { StateName } from '../../../../query/filter/jobs.ts';
import { jobsOfQueue, jobsPath } from '../../../../query/filter/links.ts';
import { number } from '../../../../query/words/format.ts';
import type { Jobs } from '../model/queue-condition.ts';
import type { QueueOfPage } from '../operations/queue.ts';
import { DepthBar } from '../parts/depth-bar.tsx';

type Depth = NonNullable<QueueOfPage['depth']>;

/** States in the order in which they are drawn, with the token of their colour. */
const STATES: readonly (readonly [part: keyof Jobs, word: string, state: StateName, colour: string])[] = [
  ['due', 'due', 'due', '--ink-3'],
  ['scheduled', 'scheduled', 'scheduled', '--work-strong'],
  ['retrying', 'retrying', 'retrying', '--warn-mark'],
  ['held', 'held', 'held', '--hold-mark'],
  ['processing', 'processing', 'processing', '--run-mark'],
  ['awaitingAck', 'awaiting ack', 'awaiting-ack', '--ack-mark'],
];

/** Jobs that have not ended, by state. Each number links to its jobs. */
export function OpenJobs({ name, depth }: { name: string; depth: Depth | null }) {
  if (depth === null) return null;
  return (
    <section className="sec" aria-labelledby="open-jobs">
      <div className="sec-head">
        <h2 id="open-jobs">Open jobs</h2>
        <span className="legend steady">
          {STATES.map(([part, word, state, colour]) => (
            <Link key={part} href={jobsPath(jobsOfQueue(name, { word: 'state', value: [state] }))}>
              <i className="dot" style={{ '--m': `var(${colour})` } as CSSProperties} aria-hidden="true" />
              {word} <b>{number(depth[part])}</b>
            </Link>
          ))}
        </span>
      </div>
      <DepthBar depth={depth} isBig />
    </section>
  );
}
