import { Table } from '../../../parts/table.tsx';
import './actions.css';
import { Link } from 'wouter-preact';
import type { ActionNow } from '../../../../query/schema/fragments.ts';
import { ACTIONS } from '../../../../query/words/words.ts';
import { Icon } from '../../../parts/icon.tsx';
import { ProgressBar } from '../../../parts/progress.tsx';
import { Status } from '../../../parts/status.tsx';
import { Ago } from '../../../parts/time.tsx';
import { isOpen, progressText, wordsOfKind } from '../model/action.ts';

/** Actions, the newest first, on their screen and below one of them. */
export function ActionsTable({ actions, caption }: { actions: readonly ActionNow[]; caption: string }) {
  return (
    <Table
      className="cards"
      caption={caption}
      columns={['Action', 'State', ['Jobs', 'n'], ['By', 'lo1'], ['When', 'n']]}
    >
      {actions.map((action) => (
        <Row key={action.id} action={action} />
      ))}
    </Table>
  );
}

function Row({ action }: { action: ActionNow }) {
  const { name, icon } = wordsOfKind(action.kind);
  return (
    <tr>
      <td className="c1">
        <span className="action-name">
          <Icon name={icon} />
          <Link className="name rowlink" href={`/actions/${action.id}`}>
            {name}
          </Link>
          {action.queue !== null && <span className="tag">{action.queue.name}</span>}
        </span>
      </td>
      <td className="c3">
        <span className="action-state">
          <Status word={ACTIONS[action.status]} />
          {isOpen(action) && (
            <ProgressBar
              size="small"
              whole={action.matched}
              label={`${name}, done`}
              parts={[{ value: action.processed, signal: 'run' }]}
            />
          )}
        </span>
      </td>
      <td className="n c2">{progressText(action)}</td>
      <td className="lo1 mono q">{action.requestedBy}</td>
      <td className="n c4 q">
        <Ago at={action.createdAt} />
      </td>
    </tr>
  );
}
