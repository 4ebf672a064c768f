import { Table, unseen } from '../../parts/table.tsx';
import './alerts.css';
import { useQuery } from '@tanstack/preact-query';
import { useRef, useState } from 'preact/compat';
import { useLocation, useSearch } from 'wouter-preact';
import { request } from '../../api/client.ts';
import { useIsPaused } from '../../api/live/live.ts';
import { outcomeOf } from '../../api/outcome.ts';
import { query, queryClient } from '../../api/query.ts';
import { May } from '../../api/rights.ts';
import { useView } from '../../base/time.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { Icon } from '../../parts/icon.tsx';
import { useCommands } from '../../parts/page/keys.ts';
import { late } from '../../parts/page/late.tsx';
import { Page } from '../../parts/page/page.tsx';
import { Empty, Failure, Skeleton } from '../../parts/states.tsx';
import { Status } from '../../parts/status.tsx';
import { Ago } from '../../parts/time.tsx';
import { toast, toastFailure } from '../../parts/toast.tsx';
import { alertOfParams, isFromPage } from '../../words/new-alert.ts';
import {
  ALERT_KINDS,
  type AlertKind,
  doubtOfRule,
  headOfAlerts,
  sentenceOfRule,
  silenceOf,
  wordOfNotification,
} from './model/alerts.ts';
import { textOfTarget } from './model/target.ts';
import {
  type AlertRuleRow,
  type AlertsData,
  Alerts as AlertsOperation,
  DeleteAlertRule,
  TestAlertRule,
} from './operations.ts';
import { type MadeSecret, SecretOnce } from './secret-once.tsx';
import { endSilence, SilenceDialog } from './silence.tsx';

const RuleDialog = late(() => import('./rule-dialog.tsx'));

const AGAIN_MS = 10_000;
const readAgain = () => void queryClient.invalidateQueries({ queryKey: ['Alerts'] });

/** Shows the firing alerts, and the rules with their last notification. */
export default function Alerts() {
  const isPaused = useIsPaused();
  const result = useQuery({ ...query(AlertsOperation, {}), refetchInterval: isPaused ? false : AGAIN_MS });
  // The rule is null if it is new.
  const proposed = alertOfParams(new URLSearchParams(useSearch()), Object.keys(ALERT_KINDS) as AlertKind[]);
  const [edited, setEdited] = useState<AlertRuleRow | null | undefined>(proposed === null ? undefined : null);
  const [, navigate] = useLocation();
  const [made, setMade] = useState<MadeSecret | null>(null);
  const make = () => setEdited(null);
  const isMade = useRef(false);
  // A cancel leads back to the page that proposed the rule. Otherwise a reload would open the dialog again.
  const close = () => {
    setEdited(undefined);
    if (proposed === null) return;
    if (!isMade.current && isFromPage(history.state)) history.back();
    else navigate('/alerts', { replace: true });
  };
  const { data } = result;
  useCommands([{ key: 'n', label: 'New alert rule', icon: 'plus', run: make, mutation: 'createAlertRule' }]);
  const { h1, icon, signal } = headOfAlerts(data?.alertRules ?? null, useView());
  return (
    <Page
      title="Alerts"
      crumbs={[{ label: 'Alerts' }]}
      sign={{ icon, signal }}
      h1={h1}
      lead="A rule notifies a webhook, people or PagerDuty when a condition starts, and again when it ends."
      actions={
        <May mutation="createAlertRule">
          <button type="button" className="btn" onClick={make}>
            <Icon name="plus" />
            New rule…
            <kbd>n</kbd>
          </button>
        </May>
      }
    >
      <Failure result={result} what="The list of alerts" />
      {made !== null && <SecretOnce made={made} onClose={() => setMade(null)} />}
      {data === undefined ? (
        result.isLoading && <Skeleton lines={4} />
      ) : (
        <>
          <Firing data={data} />
          <Rules rules={data.alertRules} onEdit={setEdited} />
          <Ended data={data} />
        </>
      )}
      {edited !== undefined && (
        <May mutation={edited === null ? 'createAlertRule' : 'updateAlertRule'}>
          <RuleDialog
            rule={edited}
            proposed={edited === null ? proposed : null}
            onDone={(secret) => {
              isMade.current = true;
              if (secret !== null) setMade(secret);
              readAgain();
            }}
            onClose={close}
          />
        </May>
      )}
    </Page>
  );
}

function Firing({ data: { alertRules } }: { data: AlertsData }) {
  const firing = alertRules.flatMap((rule) => rule.firing);
  if (firing.length === 0) return null;
  return (
    <section aria-labelledby="firing">
      <div className="sec-head">
        <h2 id="firing">Firing now</h2>
      </div>
      <ul className="alerts">
        {firing.map(({ id, cause, firedAt, firingNotificationId }) => (
          <li key={id}>
            <span className="st bad">
              <Icon name="failing" />
              {cause}
            </span>{' '}
            <span className="q small">
              {firedAt !== null && <Ago at={firedAt} />}
              {firingNotificationId === null && ', not notified yet'}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Rules({ rules, onEdit }: { rules: readonly AlertRuleRow[]; onEdit: (rule: AlertRuleRow) => void }) {
  const [silencing, setSilencing] = useState<AlertRuleRow | null>(null);
  const [deleting, setDeleting] = useState<AlertRuleRow | null>(null);
  if (rules.length === 0) {
    return (
      <Empty title="No rules" icon="failing">
        <p>Create a rule for what should wake you: no worker is running, jobs wait, or jobs die.</p>
      </Empty>
    );
  }
  return (
    <section className="sec" aria-labelledby="rules">
      <div className="sec-head">
        <h2 id="rules">Rules</h2>
      </div>
      <Table className="cards alert-rules" columns={['Condition', 'Notifies', 'Last notification', unseen('Actions')]}>
        {rules.map((rule) => (
          <Rule key={rule.id} rule={rule} onEdit={onEdit} onSilence={setSilencing} onDelete={setDeleting} />
        ))}
      </Table>
      {silencing !== null && <SilenceDialog rule={silencing} onDone={readAgain} onClose={() => setSilencing(null)} />}
      {deleting !== null && <DeleteDialog rule={deleting} onClose={() => setDeleting(null)} />}
    </section>
  );
}

function Rule({
  rule,
  onEdit,
  onSilence,
  onDelete,
}: {
  rule: AlertRuleRow;
  onEdit: (rule: AlertRuleRow) => void;
  onSilence: (rule: AlertRuleRow) => void;
  onDelete: (rule: AlertRuleRow) => void;
}) {
  const view = useView();
  const sentence = sentenceOfRule(rule);
  const silence = silenceOf(rule.silencedUntil, view);
  const doubt = doubtOfRule(rule, view);
  const of = <span className="sr"> the rule “{sentence}”</span>;
  return (
    <tr>
      <td className="c1">
        <span className="strong">{sentence}</span> {silence !== null && <span className="tag">silenced {silence}</span>}
        {doubt !== null && <div className="small worry">{doubt}</div>}
      </td>
      <td className="c3 mono q alert-url">{textOfTarget(rule.target)}</td>
      <td className="c4">
        <Status word={wordOfNotification(rule.lastNotification, view)} />
      </td>
      <td className="n c2">
        <span className="alert-buttons">
          <May mutation="testAlertRule">
            <button type="button" className="btn tiny" onClick={() => void test(rule)}>
              Test{of}
            </button>
          </May>
          <May mutation="silenceAlertRule">
            <button
              type="button"
              className="btn tiny"
              onClick={() => (silence === null ? onSilence(rule) : void endSilence(rule, readAgain))}
            >
              {silence === null ? 'Silence…' : 'End silence'}
              {of}
            </button>
          </May>
          <May mutation="updateAlertRule">
            <button type="button" className="btn tiny" onClick={() => onEdit(rule)}>
              Edit…{of}
            </button>
          </May>
          <May mutation="deleteAlertRule">
            <button type="button" className="btn tiny" onClick={() => onDelete(rule)}>
              Delete…{of}
            </button>
          </May>
        </span>
      </td>
    </tr>
  );
}

async function test({ id }: AlertRuleRow): Promise<void> {
  try {
    const outcome = outcomeOf((await request(TestAlertRule, { id })).testAlertRule);
    if (!outcome.ok) throw new Error(outcome.message);
    toast({ text: 'A test is on its way', icon: 'send' });
    readAgain();
  } catch (error) {
    toastFailure(`Not sent: ${(error as Error).message}`);
  }
}

function DeleteDialog({ rule, onClose }: { rule: AlertRuleRow; onClose: () => void }) {
  const remove = async () => {
    const outcome = outcomeOf((await request(DeleteAlertRule, { id: rule.id })).deleteAlertRule);
    if (!outcome.ok) return `Not deleted: ${outcome.message}`;
    onClose();
    toast({ text: 'The rule is deleted.' });
    readAgain();
    return null;
  };
  return (
    <Dialog
      title="Delete this rule?"
      lead={sentenceOfRule(rule)}
      action={{ label: 'Delete', isDanger: true, run: remove }}
      onClose={onClose}
    >
      <p className="q">Its alerts are deleted, too. If one is firing, no notification says that it has ended.</p>
    </Dialog>
  );
}

function Ended({ data: { ended } }: { data: AlertsData }) {
  if (ended.nodes.length === 0) return null;
  return (
    <section className="sec" aria-labelledby="ended">
      <div className="sec-head">
        <h2 id="ended">Ended</h2>
        <span className="small q">the last 10</span>
      </div>
      <ul className="alerts">
        {ended.nodes.map(({ id, cause, resolvedAt }) => (
          <li key={id}>
            {cause} <span className="q small">ended {resolvedAt !== null && <Ago at={resolvedAt} />}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
