import { useState } from 'preact/compat';
import { Link } from 'wouter-preact';
import { type ActivityFilter, activityPath, foldsSignIns } from '../../../query/filter/activity.ts';
import { upperFirst } from '../../../query/words/format.ts';
import { useView } from '../../base/time.ts';
import { Difference } from '../../parts/difference.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import {
  actionOf,
  type FieldChange,
  fieldChanges,
  isMoment,
  labelOfField,
  verbOfEntry,
  wordsOfAction,
} from '../../words/audit.ts';
import { actionOnQueue, RELEASE } from '../../words/queue-actions.ts';
import { folded, isRun, lineOfRun, targetOf } from './model/audit.ts';
import type { ActivityEntry } from './operations.ts';

/** Fields shown in a row; the rest are expandable. */
const SHOWN = 3;

export function Entries({
  entries,
  filter,
  isCut,
  ends,
}: {
  entries: readonly ActivityEntry[];
  filter: ActivityFilter;
  /** Whether the oldest sign-ins are not among them. */
  isCut: boolean;
  /** Changes at the ends of the page behind which there are more. */
  ends: readonly (ActivityEntry | undefined)[];
}) {
  const lines = folded(entries, foldsSignIns(filter));
  const lastSignIns = isCut ? lines.findLast((line) => isRun(line) && line[0]?.targetType !== 'queue') : null;
  return (
    <Table
      className="cards entries"
      caption="Changes, the newest first"
      columns={[['When', 'at'], 'Change', 'Before and after', ['By', 'by']]}
    >
      {lines.map((line) =>
        isRun(line) ? (
          <Run
            key={line.at(-1)?.id}
            run={line}
            filter={filter}
            isCut={line === lastSignIns || line.some((entry) => ends.some((end) => end?.id === entry.id))}
          />
        ) : (
          <Row key={line.id} entry={line} filter={filter} />
        ),
      )}
    </Table>
  );
}

/** Sign-ins without a change between them, or an action on many queues: one line, which opens. */
function Run({ run, filter, isCut }: { run: readonly ActivityEntry[]; filter: ActivityFilter; isCut: boolean }) {
  const view = useView();
  const [isOpen, setOpen] = useState(false);
  const { what, when, icon } = lineOfRun(run, view, isCut);
  return (
    <>
      <tr>
        <td className="c2 q at">{when}</td>
        <td className="c1" colSpan={3}>
          <span className="what">
            <Icon name={icon} />
            <button type="button" className="link rowlink fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
              {what}
            </button>
          </span>
        </td>
      </tr>
      {isOpen && run.map((entry) => <Row key={entry.id} entry={entry} filter={filter} />)}
    </>
  );
}

function Row({ entry, filter }: { entry: ActivityEntry; filter: ActivityFilter }) {
  if (entry.action === RELEASE) return <Release entry={entry} />;
  return <Change entry={entry} filter={filter} />;
}

function Release({ entry }: { entry: ActivityEntry }) {
  return (
    <tr>
      <td className="c2 q at">
        <Time at={entry.at} />
      </td>
      <td className="c1" colSpan={3}>
        <span className="what">
          <Icon name="system" />
          <Link className="name rowlink" href="/system">
            {entry.actor} {actionOnQueue(entry)}
          </Link>
        </span>
      </td>
    </tr>
  );
}

function Change({ entry, filter }: { entry: ActivityEntry; filter: ActivityFilter }) {
  const { icon } = wordsOfAction(entry.action);
  const { name, path } = targetOf(entry);
  const actionId = actionOf(entry);
  return (
    <tr>
      <td className="c2 q at">
        <Time at={entry.at} />
      </td>
      <td className="c1">
        <span className="what">
          <Icon name={icon} />
          <span>
            {upperFirst(verbOfEntry(entry))}{' '}
            {name !== null &&
              (path === null ? (
                <b>{name}</b>
              ) : (
                <Link className="name rowlink" href={path}>
                  {name}
                </Link>
              ))}
          </span>
        </span>
      </td>
      <td className="c5">
        <Changes changes={fieldChanges(entry)} />
        <span className="entry-links">
          {actionId !== null && (
            <Link className="link" href={`/actions/${actionId}`}>
              The action
            </Link>
          )}
        </span>
      </td>
      <td className="c3 mono q by">
        <Link
          className="link"
          href={activityPath(filter, { actor: entry.actor })}
          aria-label={`Only changes by ${entry.actor}`}
        >
          {entry.actor}
        </Link>
        <Link
          className="btn quiet icon tiny only"
          href={activityPath(filter, { target: entry.targetId })}
          aria-label={`Only changes of ${name ?? entry.targetType.replace('_', ' ')}`}
        >
          <Icon name="search" />
        </Link>
      </td>
    </tr>
  );
}

function Changes({ changes }: { changes: readonly FieldChange[] }) {
  if (changes.length === 0) return null;
  if (changes.length <= SHOWN) return <Fields changes={changes} />;
  const isNew = changes.every(({ before }) => before === null);
  return (
    <details>
      <summary>
        {changes.length} {isNew ? 'fields' : 'fields changed'}
      </summary>
      <Fields changes={changes} />
    </details>
  );
}

function Fields({ changes }: { changes: readonly FieldChange[] }) {
  return (
    <dl className="diff">
      {changes.map(({ field, before, after }) => (
        <Difference key={field} label={labelOfField(field)} before={shown(before)} after={shown(after)} />
      ))}
    </dl>
  );
}

const shown = (text: string | null) => (text !== null && isMoment(text) ? <Time at={text} /> : text);
