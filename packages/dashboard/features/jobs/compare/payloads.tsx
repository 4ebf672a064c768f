import { type FormEvent, useEffect, useMemo, useState } from 'preact/compat';
import { useLocation } from 'wouter-preact';
import { isJobId, shortId } from '../../../../query/words/job-id.ts';
import { NO_PAYLOADS } from '../../../../query/words/rights.ts';
import { Empty } from '../../../parts/states.tsx';
import { compareTexts, sentenceOfComparison } from '../model/compare.ts';
import type { JobToCompare } from '../operations/compare.ts';
import { DiffView } from './diff-view.tsx';
import { Frame } from './frame.tsx';

type OtherJob = Pick<JobToCompare, 'id' | 'createdAt' | 'payloadText'>;

/** The payload of a job beside that of another one: its origin, a replay, or any job by its id. */
export function Payloads({ job, otherId, other }: { job: JobToCompare; otherId: string; other: OtherJob | null }) {
  const isOlder = other !== null && other.createdAt <= job.createdAt;
  const [from, to] = isOlder ? [other, job] : [job, other];
  const [before, after] = [from?.payloadText ?? null, to?.payloadText ?? null];
  const diff = useMemo(() => (before === null || after === null ? null : compareTexts(before, after)), [before, after]);
  const names = [`job ${shortId(from?.id ?? '')}`, `job ${shortId(to?.id ?? '')}`] as const;
  return (
    <Frame
      id={job.id}
      h1={diff === null ? 'Compare its payload with that of another job.' : sentenceOfComparison('The payloads', diff)}
      tab="payloads"
      otherId={otherId}
    >
      <OtherJobField key={otherId} job={job} otherId={otherId} />
      {other === null ? (
        otherId !== '' && (
          <Empty title={isJobId(otherId) ? 'No job has this id' : 'An id has 24 digits, 0-9 and a-f'} icon="search" />
        )
      ) : diff === null ? (
        <Empty title={job.payloadText === null ? NO_PAYLOADS : 'A payload cannot be read'} />
      ) : (
        <DiffView diff={diff} names={names} />
      )}
    </Frame>
  );
}

function OtherJobField({ job, otherId }: { job: JobToCompare; otherId: string }) {
  const [, navigate] = useLocation();
  const [text, setText] = useState(otherId);
  useEffect(() => setText(otherId), [otherId]);
  const show = (id: string) => navigate(`/jobs/${job.id}/compare?payload=${encodeURIComponent(id.trim())}`);
  const related = [
    ...(job.replayOf === null ? [] : [['its origin', job.replayOf.id] as const]),
    ...job.replays.map(({ id }) => ['its replay', id] as const),
  ].filter(([, id]) => id !== otherId);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    show(text);
  };
  return (
    <form className="other-job toolbar" onSubmit={submit}>
      <input
        className="input mono"
        aria-label="Id of the other job"
        placeholder="Id of the other job"
        value={text}
        autoComplete="off"
        spellcheck={false}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
      />
      <button type="submit" className="btn">
        Compare
      </button>
      {related.map(([what, id]) => (
        <button key={id} type="button" className="btn quiet" onClick={() => show(id)}>
          With {what} {shortId(id)}
        </button>
      ))}
    </form>
  );
}
