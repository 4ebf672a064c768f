import './attempts-page.css';
import { useQuery } from '@tanstack/preact-query';
import { Link, useLocation, useSearchParams } from 'wouter-preact';
import { ATTEMPTS, SINCE, TOOK, toAttemptFilter } from '../../../../query/filter/attempts.ts';
import { chipsOf, fieldsIn, formatFilter } from '../../../../query/filter/engine.ts';
import { attemptsPath } from '../../../../query/filter/links.ts';
import { type Filter, mayUse } from '../../../../query/filter/table.ts';
import { CODES } from '../../../../query/words/answers.ts';
import { keepOld, query } from '../../../api/query.ts';
import { useRights } from '../../../api/rights.ts';
import { serverNow } from '../../../base/clock.ts';
import { useView } from '../../../base/time.ts';
import { useTyped } from '../../../base/use-typed.ts';
import { Choice, ConditionChip } from '../../../parts/choice.tsx';
import { ExportButton } from '../../../parts/export/export-button.tsx';
import { Icon } from '../../../parts/icon.tsx';
import { Page } from '../../../parts/page/page.tsx';
import { useWalk } from '../../../parts/page/walk.ts';
import { Pager } from '../../../parts/pager.tsx';
import { Empty, Failure, Skeleton, useIsLate } from '../../../parts/states.tsx';
import { Phrase } from '../../../parts/time.tsx';
import { useQueueIds } from '../../../parts/use-queue-ids.ts';
import { textOfPhrase } from '../../../words/phrase.ts';
import { type AttemptList, sentenceOfAttempts } from '../model/attempt-list.ts';
import { AttemptsPage } from '../operations/attempts.ts';
import { AttemptTable } from './attempt-table.tsx';

const PAGE = 50;

const CRUMBS = [{ label: 'Jobs', to: '/jobs' }, { label: 'Attempts' }];

/** Which deliveries were slow, or were answered so? Attempts of all jobs, the slowest or the latest first. */
export default function Attempts() {
  const [params] = useSearchParams();
  const rights = useRights();
  const filter = fieldsIn(ATTEMPTS, params, rights);
  const list: AttemptList = { ...filter, order: params.get('order') === 'latest' ? 'latest' : null };
  const [after, before] = [params.get('after'), params.get('before')];
  const { ids, result: lookUp } = useQueueIds(list.queue === null ? [] : [list.queue]);
  const result = useQuery({
    ...query(
      AttemptsPage,
      () => ({
        filter: toAttemptFilter(filter, { queueIds: ids ?? [], now: serverNow() }),
        order: {
          field: list.order === 'latest' ? ('ENDED_AT' as const) : ('DURATION' as const),
          direction: 'DESC' as const,
        },
        ...(before === null ? { first: PAGE, after } : { last: PAGE, before }),
      }),
      { key: { ...list, after, before } },
    ),
    ...keepOld,
    enabled: ids !== undefined,
  });
  const page = result.data?.attempts;
  const isLate = useIsLate(result.isLoading || result.isPlaceholderData);
  useWalk();
  const view = useView();
  const isFirst = page?.pageInfo.hasPreviousPage === false;
  const sentence =
    page === undefined || result.isPlaceholderData || (!isFirst && page.nodes.length > 0)
      ? [isLate ? 'Searching…' : 'Attempts']
      : sentenceOfAttempts({ count: page.totalCount, exact: page.totalCountExact }, page.nodes[0], list, view);
  return (
    <Page
      title={textOfPhrase(sentence).split('.', 1)[0] ?? 'Attempts'}
      crumbs={CRUMBS}
      h1={<Phrase pieces={sentence} />}
      lead="Every finished delivery."
      actions={
        <ExportButton
          list={
            ids === undefined
              ? null
              : () => ({
                  of: 'attempts',
                  filter: formatFilter(ATTEMPTS, chipsOf(filter) as Filter<typeof ATTEMPTS>),
                  variables: { filter: toAttemptFilter(filter, { queueIds: ids, now: serverNow() }) },
                })
          }
        />
      }
    >
      <Conditions list={list} />
      <Failure result={lookUp} what="The queue of the list" />
      <Failure result={result} what="The list of attempts" />
      {page === undefined && result.isLoading && <Skeleton lines={6} />}
      {page?.nodes.length === 0 && !result.isPlaceholderData && (
        <Empty title="No attempt matches" icon="search">
          <Link className="btn tiny" href={attemptsPath()}>
            All attempts of the last 24 hours
          </Link>
        </Empty>
      )}
      {page !== undefined && page.nodes.length > 0 && (
        <div className={result.isPlaceholderData ? 'dim' : undefined}>
          <AttemptTable attempts={page.nodes} />
          <Pager
            info={page.pageInfo}
            pathTo={(place) => attemptsPath({ ...list, ...place })}
            labels={list.order === null ? ['Slower', 'Faster'] : undefined}
          />
        </div>
      )}
    </Page>
  );
}

function Conditions({ list }: { list: AttemptList }) {
  const [, navigate] = useLocation();
  const set = (change: Partial<AttemptList>) => navigate(attemptsPath({ ...list, ...change }));
  return (
    <div className="toolbar choices">
      <nav className="seg" aria-label="Order">
        <Link href={attemptsPath({ ...list, order: null })} aria-current={list.order === null ? 'page' : undefined}>
          Slowest
        </Link>
        <Link href={attemptsPath({ ...list, order: 'latest' })} aria-current={list.order !== null ? 'page' : undefined}>
          Latest
        </Link>
      </nav>
      <Choice
        label="When"
        value={list.since}
        onChange={(since) => set({ since: since as AttemptList['since'] })}
        options={[['', 'the last 24 hours'], ...labelsOf(SINCE)]}
      />
      <Choice
        label="Answer"
        value={list.code}
        onChange={(code) => set({ code: code as AttemptList['code'] })}
        options={[['', 'any'], ...Object.entries(CODES)]}
      />
      <Choice
        label="Took"
        value={list.took}
        onChange={(took) => set({ took: took as AttemptList['took'] })}
        options={[['', 'any time'], ...labelsOf(TOOK)]}
      />
      {mayUse(ATTEMPTS, 'answer', useRights()) && (
        <AnswerField text={list.answer ?? ''} onText={(answer) => set({ answer: answer || null })} />
      )}
      {list.queue !== null && (
        <ConditionChip word="queue" value={list.queue} to={attemptsPath({ ...list, queue: null })} />
      )}
    </div>
  );
}

const labelsOf = (choices: Readonly<Record<string, { label: string }>>) =>
  Object.entries(choices).map(([value, { label }]) => [value, label] as const);

/** Time between the last key and the question. */
const TYPING_MS = 400;

function AnswerField({ text, onText }: { text: string; onText: (text: string) => void }) {
  const [typed, setTyped] = useTyped(text, onText, TYPING_MS);
  return (
    <search className="answer-search">
      <Icon name="search" />
      <input
        className="input"
        type="search"
        aria-label="Text of the receiver’s answer"
        placeholder="Answer contains"
        value={typed}
        autoComplete="off"
        spellcheck={false}
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
    </search>
  );
}
