import type { JobRow } from '../../../../query/schema/fragments.ts';
import { textOf } from '../../../../query/schema/graphql.ts';
import { urlOf } from '../../../api/client.ts';
import { useUniqueId } from '../../../base/use-unique-id.ts';
import { copy } from '../../../parts/copy.tsx';
import { Icon } from '../../../parts/icon.tsx';
import { useCommands } from '../../../parts/page/keys.ts';
import { curlOfAgain } from '../model/curl.ts';
import { JobPage } from '../operations/job.ts';

/** A menu of texts to paste elsewhere. The payload in each is the one that was published, byte for byte. */
export function CopyAs({ job, payloadText }: { job: JobRow; payloadText: string | null }) {
  const id = useUniqueId();
  const items = [
    { key: 'y', label: 'Copy the id', run: () => void copy(job.id, 'Id') },
    ...(payloadText === null ? [] : withPayload(job, payloadText)),
    {
      label: 'Copy as GraphQL',
      run: () => void copy(`${textOf(JobPage)}\n# ${JSON.stringify({ id: job.id })}`, 'GraphQL query'),
    },
    { label: 'Copy the link', run: () => void copy(location.href, 'Link') },
  ];
  useCommands(items.map((item) => ({ ...item, icon: 'copy' })));
  return (
    <>
      <button type="button" className="btn" popoverTarget={id}>
        <Icon name="copy" />
        Copy as
      </button>
      <div id={id} popover="auto" className="menu">
        {items.map(({ key, label, run }) => (
          <button key={label} type="button" popoverTarget={id} popoverTargetAction="hide" onClick={run}>
            {label.replace(/^Copy (the |as )?/, '').replace(/^./, (first) => first.toUpperCase())}
            {key !== undefined && <kbd>{key}</kbd>}
          </button>
        ))}
      </div>
    </>
  );
}

/** These commands need the whole payload, which people without the right to see it do not get. */
function withPayload({ queue, idempotencyKey }: JobRow, payloadText: string) {
  const url = urlOf(`v1/queues/${encodeURIComponent(queue.name)}/jobs`);
  const curl = () => curlOfAgain(url, { payloadText, idempotencyKey });
  return [
    { key: 'Y', label: 'Copy as curl', run: () => void copy(curl(), 'curl command') },
    { label: 'Copy the payload', run: () => void copy(payloadText, 'Exact payload') },
  ];
}
