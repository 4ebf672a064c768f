import { type ReactNode, useMemo } from 'preact/compat';
import { useLocation } from 'wouter-preact';
import { NONE, time, tookExactly, upperFirst, visible } from '../../../../query/words/format.ts';
import { NO_PAYLOADS } from '../../../../query/words/rights.ts';
import { ATTEMPTS } from '../../../../query/words/words.ts';
import { useRights } from '../../../api/rights.ts';
import { useView } from '../../../base/time.ts';
import { Choice } from '../../../parts/choice.tsx';
import { Empty } from '../../../parts/states.tsx';
import { Status } from '../../../parts/status.tsx';
import { Table } from '../../../parts/table.tsx';
import { ExactTime } from '../../../parts/time.tsx';
import { comparedFirst } from '../../../words/job.ts';
import { chosenAttempts, compareTexts, sentenceOfAnswers } from '../model/compare.ts';
import type { JobToCompare } from '../operations/compare.ts';
import { DiffView } from './diff-view.tsx';
import { Frame } from './frame.tsx';

type Attempt = JobToCompare['attempts'][number];

/** Two attempts of a job beside each other, with the difference between the receiver's answers. */
export function Answers({ job, chosen }: { job: JobToCompare; chosen: string | null }) {
  const { attempts } = job;
  const [, navigate] = useLocation();
  const view = useView();
  const mayView = useRights()?.mayViewPayloads !== false;
  const places = chosenAttempts(chosen, attempts.length);
  const [from, to] = places.map((place) => attempts[place - 1]);
  const [before, after] = [from?.responseBody ?? '', to?.responseBody ?? ''];
  const diff = useMemo(() => compareTexts(before, after), [before, after]);
  if (from === undefined || to === undefined || attempts.length < 2) {
    const h1 = 'The job has fewer than 2 attempts to compare.';
    return (
      <Frame id={job.id} h1={h1} tab="answers" otherId={comparedFirst(job)}>
        <Empty title="Attempts can be compared once 2 have ended" icon="moving" />
      </Frame>
    );
  }
  const options = attempts.map((attempt, index): readonly [string, string] => [
    String(index + 1),
    `#${attempt.attempt} ${ATTEMPTS[attempt.status].word}, ${time(Date.parse(attempt.at), view)}`,
  ]);
  const choose = (side: 0 | 1) => (place: string | null) =>
    navigate(`/jobs/${job.id}/compare?attempts=${places.with(side, Number(place)).join(',')}`, { replace: true });
  // A redelivery after a hold has the number of the attempt before.
  const isRepeated = from.attempt === to.attempt;
  const nameOf = ({ attempt, at }: Attempt) =>
    `attempt ${attempt}${isRepeated ? ` at ${time(Date.parse(at), view)}` : ''}`;
  const names = [nameOf(from), nameOf(to)] as const;
  return (
    <Frame
      id={job.id}
      h1={mayView ? sentenceOfAnswers(from, to, diff) : 'Two attempts, without their answers.'}
      tab="answers"
      otherId={comparedFirst(job)}
    >
      <div className="toolbar choices">
        <Choice label="From" value={String(places[0])} options={options} onChange={choose(0)} />
        <Choice label="To" value={String(places[1])} options={options} onChange={choose(1)} />
      </div>
      <div className="stack">
        <Beside from={from} to={to} names={names} />
        {!mayView && <p className="small q">{NO_PAYLOADS}</p>}
        {mayView && before + after !== '' && <DiffView diff={diff} names={names} />}
      </div>
    </Frame>
  );
}

function Beside({ from, to, names }: { from: Attempt; to: Attempt; names: readonly [from: string, to: string] }) {
  const row = (name: string, of: (attempt: Attempt) => ReactNode) => (
    <tr>
      <th scope="row">{name}</th>
      <td>{of(from)}</td>
      <td>{of(to)}</td>
    </tr>
  );
  return (
    <Table
      className="beside"
      caption="Two attempts"
      columns={[{ label: <span className="sr">Fact</span> }, upperFirst(names[0]), upperFirst(names[1])]}
    >
      {row('Outcome', ({ status }) => (
        <Status word={ATTEMPTS[status]} />
      ))}
      {row('Code', ({ webhookStatusCode }) => webhookStatusCode ?? NONE)}
      {row('Error', ({ error }) => (error === null ? NONE : visible(error)))}
      {row('Took', ({ durationMs }) => (durationMs === null ? NONE : tookExactly(durationMs)))}
      {row('Ended', ({ at }) => (
        <ExactTime at={at} />
      ))}
    </Table>
  );
}
