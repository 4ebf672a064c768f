import { useState } from 'preact/compat';
import { request } from '../../api/client.ts';
import { outcomeOf } from '../../api/outcome.ts';
import { serverNow } from '../../base/clock.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { toast, toastFailure } from '../../parts/toast.tsx';
import { SILENCES, sentenceOfRule } from './model/alerts.ts';
import { type AlertRuleRow, SilenceAlertRule } from './operations.ts';

export function SilenceDialog({
  rule,
  onDone,
  onClose,
}: {
  rule: AlertRuleRow;
  onDone: () => void;
  onClose: () => void;
}) {
  const [ms, setMs] = useState<number>(SILENCES[0][1]);
  const silence = async () => {
    const until = new Date(serverNow() + ms).toISOString();
    const outcome = outcomeOf((await request(SilenceAlertRule, { id: rule.id, until })).silenceAlertRule);
    if (!outcome.ok) return `Not silenced: ${outcome.message}`;
    onClose();
    toast({ text: 'The rule is silenced for everyone.' });
    onDone();
    return null;
  };
  return (
    <Dialog
      title="Silence this rule?"
      lead={sentenceOfRule(rule)}
      action={{ label: 'Silence', run: silence }}
      onClose={onClose}
    >
      <fieldset className="field">
        <legend>For</legend>
        <div className="seg">
          {SILENCES.map(([label, value]) => (
            <label key={label}>
              <input type="radio" name="silence" checked={value === ms} onChange={() => setMs(value)} />
              {label}
            </label>
          ))}
        </div>
      </fieldset>
      <p className="q">Its alerts are still shown here. Those that fire when the silence ends are sent then.</p>
    </Dialog>
  );
}

export async function endSilence({ id }: AlertRuleRow, onDone: () => void): Promise<void> {
  try {
    const outcome = outcomeOf((await request(SilenceAlertRule, { id, until: null })).silenceAlertRule);
    if (!outcome.ok) throw new Error(outcome.message);
    toast({ text: 'The rule notifies again.' });
    onDone();
  } catch (error) {
    toastFailure(`Still silenced: ${(error as Error).message}`);
  }
}
