import { useQuery } from '@tanstack/preact-query';
import { Link } from 'wouter-preact';
import { time } from '../../../query/words/format.ts';
import { DeletedQueues } from '../../api/operations/deleted-queues.ts';
import { query } from '../../api/query.ts';
import { useServer } from '../../api/server.ts';
import { useView } from '../../base/time.ts';
import { phrase } from '../../words/phrase.ts';
import { Failure } from '../states.tsx';
import { Phrase } from '../time.tsx';
import { Page } from './page.tsx';

/** No live queue has the name: it was deleted, or never was. */
export function GoneQueue({ name }: { name: string }) {
  const result = useQuery(query(DeletedQueues, {}));
  const server = useServer();
  const view = useView();
  const deleted = result.data?.auditLog.nodes.find(({ targetName }) => targetName === name);
  const crumbs = [{ label: 'Queues', to: '/queues' }, { label: name }];
  const lead = <Link href="/queues">All queues</Link>;
  if (result.data === undefined) {
    return (
      <Page title={name} crumbs={crumbs} h1="No queue has this name." lead={lead}>
        <Failure result={result} what="The history of this queue" />
      </Page>
    );
  }
  if (deleted === undefined) {
    return (
      <Page
        title={`No queue ${name}`}
        crumbs={crumbs}
        sign={{ icon: 'deleted', signal: 'idle' }}
        h1="No queue has this name."
        lead={lead}
      />
    );
  }
  const moment = (at: number) => ({ at, text: time(at, view) });
  const deletedAt = Date.parse(deleted.at);
  const kept =
    server === null ? '' : phrase` Its jobs are kept until ${moment(deletedAt + server.retentionSeconds * 1000)}.`;
  return (
    <Page
      title={`${name} was deleted`}
      crumbs={crumbs}
      sign={{ icon: 'deleted', signal: 'idle' }}
      h1={<Phrase pieces={phrase`Deleted at ${moment(deletedAt)}.${kept}`} />}
      lead={<>A job of it is found by its id. The name is free. {lead}</>}
    />
  );
}
