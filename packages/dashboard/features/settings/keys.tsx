import { useQuery } from '@tanstack/preact-query';
import { type ReactNode, useState } from 'preact/compat';
import { day, many } from '../../../query/words/format.ts';
import { request } from '../../api/client.ts';
import { outcomeOf } from '../../api/outcome.ts';
import { query, queryClient } from '../../api/query.ts';
import { May } from '../../api/rights.ts';
import { useShell } from '../../api/server.ts';
import { leaving } from '../../base/session.ts';
import { useView } from '../../base/time.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { Icon } from '../../parts/icon.tsx';
import { useCommands } from '../../parts/page/keys.ts';
import { Page } from '../../parts/page/page.tsx';
import { endOwnSession } from '../../parts/page/sign-out.ts';
import { Empty, Failure, Skeleton } from '../../parts/states.tsx';
import { Table, unseen } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';
import { toast } from '../../parts/toast.tsx';
import { endsSoon, headOfKeys, isUnused, keyText, mayText, revokeLead } from './model/api-keys.ts';
import { KeyOnce, type MadeKey, NewKeyDialog } from './new-key.tsx';
import { type ApiKeyRow, Keys as KeysOperation, RevokeKey } from './operations.ts';

export function Keys({ tabs }: { tabs: ReactNode }) {
  const result = useQuery(query(KeysOperation, {}));
  const mine = useShell()?.me.apiKeyId ?? null;
  const [isCreating, setCreating] = useState(false);
  const [made, setMade] = useState<MadeKey | null>(null);
  const [revoking, setRevoking] = useState<ApiKeyRow | null>(null);
  const [showsRevoked, setShowsRevoked] = useState(false);
  useCommands([
    { key: 'n', label: 'New API key', icon: 'plus', run: () => setCreating(true), mutation: 'createApiKey' },
  ]);
  const keys = result.data?.account.apiKeys;
  const revoked = keys?.filter(({ revokedAt }) => revokedAt !== null) ?? [];
  const shown = keys?.filter(({ revokedAt }) => showsRevoked || revokedAt === null) ?? [];
  return (
    <Head
      keys={keys}
      actions={
        <May mutation="createApiKey">
          <button type="button" className="btn" onClick={() => setCreating(true)}>
            <Icon name="plus" />
            New key…
            <kbd>n</kbd>
          </button>
        </May>
      }
    >
      {tabs}
      <Failure result={result} what="The list of keys" />
      {made !== null && <KeyOnce made={made} onClose={() => setMade(null)} />}
      {keys === undefined && result.isLoading && <Skeleton lines={4} />}
      {keys !== undefined && shown.length === 0 && (
        <Empty title="No active keys" icon="key">
          <p>A program needs a key to publish. Create one for each program, so that you can revoke it alone.</p>
        </Empty>
      )}
      {shown.length > 0 && <KeyTable keys={shown} mine={mine} newId={made?.id ?? null} onRevoke={setRevoking} />}
      {revoked.length > 0 && (
        <p className="pager">
          <button type="button" className="btn tiny quiet accent" onClick={() => setShowsRevoked(!showsRevoked)}>
            {showsRevoked ? 'Hide the revoked keys' : `Show ${many(revoked.length, 'revoked key')}`}
          </button>
        </p>
      )}
      {isCreating && <NewKeyDialog onMade={setMade} onClose={() => setCreating(false)} />}
      {revoking !== null && (
        <RevokeDialog apiKey={revoking} isMine={revoking.id === mine} onClose={() => setRevoking(null)} />
      )}
    </Head>
  );
}

function Head({
  keys,
  actions,
  children,
}: {
  keys: readonly ApiKeyRow[] | undefined;
  actions: ReactNode;
  children: ReactNode;
}) {
  const view = useView();
  return (
    <Page
      title="API keys"
      crumbs={[{ label: 'Settings' }, { label: 'API keys' }]}
      h1={keys === undefined ? 'API keys' : headOfKeys(keys, view.now)}
      lead="Give each program its own key, with no more rights than it needs. A revoked key is refused everywhere within 1 second."
      actions={actions}
    >
      {children}
    </Page>
  );
}

function KeyTable({
  keys,
  mine,
  newId,
  onRevoke,
}: {
  keys: readonly ApiKeyRow[];
  mine: string | null;
  newId: string | null;
  onRevoke: (key: ApiKeyRow) => void;
}) {
  const view = useView();
  return (
    <Table
      className="cards keys"
      caption="API keys"
      columns={['Name', 'Key', 'Permissions', ['Created', 'lo1'], 'Last used', 'Expires', unseen('Actions')]}
    >
      {keys.map((key) => {
        const isOld = key.revokedAt === null && isUnused(key, view.now);
        return (
          <tr key={key.id} className={key.revokedAt === null ? undefined : 'revoked'}>
            <td className="c1">
              <span className="strong">{key.name ?? 'Unnamed key'}</span>{' '}
              {key.id === newId && <span className="tag ok">new</span>}{' '}
              {key.id === mine && <span className="tag">this session</span>}
            </td>
            <td className="c3 mono q">{keyText(key)}</td>
            <td className="q">{mayText(key)}</td>
            <td className="lo1 q">
              <Ago at={key.createdAt} />
              {key.createdBy !== null && ` by ${key.createdBy}`}
            </td>
            <td className={isOld ? 'c4 worry' : 'c4 q'}>
              {key.lastUsedAt === null ? 'never' : <Ago at={key.lastUsedAt} />}
            </td>
            <td className={key.revokedAt === null && endsSoon(key, view.now) ? 'worry' : 'q'}>
              {key.expiresAt === null ? 'never' : day(Date.parse(key.expiresAt), view)}
            </td>
            <td className="n c2">
              {key.revokedAt === null ? (
                <May mutation="revokeApiKey">
                  <button type="button" className="btn tiny" onClick={() => onRevoke(key)}>
                    Revoke…<span className="sr"> {key.name ?? keyText(key)}</span>
                  </button>
                </May>
              ) : (
                <>
                  revoked <Ago at={key.revokedAt} />
                </>
              )}
            </td>
          </tr>
        );
      })}
    </Table>
  );
}

function RevokeDialog({ apiKey, isMine, onClose }: { apiKey: ApiKeyRow; isMine: boolean; onClose: () => void }) {
  const view = useView();
  const name = apiKey.name === null ? keyText(apiKey) : `“${apiKey.name}”`;
  const revoke = async () => {
    const outcome = outcomeOf((await request(RevokeKey, { id: apiKey.id })).revokeApiKey);
    if (!outcome.ok) return `Not revoked: ${outcome.message}`;
    onClose();
    if (isMine) {
      await endOwnSession();
      return null;
    }
    toast({ text: `${name} is revoked.` });
    void queryClient.invalidateQueries({ queryKey: ['Keys'] });
    return null;
  };
  return (
    <Dialog
      title={`Revoke ${name}?`}
      lead={revokeLead(apiKey, isMine, view)}
      action={{
        label: isMine ? 'Revoke, and sign out' : 'Revoke',
        isDanger: true,
        // The key ends its sessions, also this one.
        run: isMine ? () => leaving(revoke) : revoke,
      }}
      onClose={onClose}
    >
      <p className="q">A revoked key stays in the list and in Activity. It cannot be restored.</p>
    </Dialog>
  );
}
