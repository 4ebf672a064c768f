import { useState } from 'preact/compat';
import { many } from '../../../../query/words/format.ts';
import type { Word } from '../../../../query/words/words.ts';
import { request } from '../../../api/client.ts';
import { outcomeOf } from '../../../api/outcome.ts';
import { useUniqueId } from '../../../base/use-unique-id.ts';
import { Dialog } from '../../../parts/dialog.tsx';
import { Status } from '../../../parts/status.tsx';
import { ExamineReceiver, type Finding } from '../operations/examine-receiver.ts';

/** As the service has it by default: by it a receiver can tell a test request from a job. */
const TEST_PAYLOAD = '{"jobferry":"check"}';

const STATUSES: Readonly<Record<Finding['status'], Word>> = {
  OK: { word: 'Passed', icon: 'check', signal: 'ok' },
  WARNING: { word: 'Warning', icon: 'info', signal: 'warn' },
  FAILED: { word: 'Failed', icon: 'failed', signal: 'bad' },
  SKIPPED: { word: 'Not tested', icon: 'idle', signal: 'idle' },
};

/** Asks for the payload, sends the test requests, and shows the verdicts in place of the question. */
export default function ExamineDialog({
  queue,
  onClose,
}: {
  queue: { id: string; name: string };
  onClose: () => void;
}) {
  const field = useUniqueId();
  const [payload, setPayload] = useState(TEST_PAYLOAD);
  const [findings, setFindings] = useState<readonly Finding[] | null>(null);
  const run = async () => {
    setFindings(null);
    const outcome = outcomeOf((await request(ExamineReceiver, { id: queue.id, payload })).examineReceiver);
    if (!outcome.ok) return outcome.message;
    setFindings(outcome.value.findings);
    return null;
  };
  return (
    <Dialog
      title={findings === null ? `Test the receiver of ${queue.name}?` : titleOf(findings)}
      lead="Sends up to 30 signed test requests, valid and forged. They are not jobs, but a receiver that accepts the payload may do its work each time."
      action={{ label: findings === null ? 'Start the test' : 'Test again', run, keep: 'Close' }}
      onClose={onClose}
    >
      <div className="field">
        <label htmlFor={field}>A payload that it accepts</label>
        <textarea
          className="input"
          id={field}
          rows={3}
          value={payload}
          onChange={(event) => setPayload(event.currentTarget.value)}
        />
      </div>
      {findings !== null && (
        <ul className="findings">
          {findings.map((finding) => (
            <FindingLine key={finding.name} finding={finding} />
          ))}
        </ul>
      )}
    </Dialog>
  );
}

function FindingLine({ finding: { name, status, text, advice } }: { finding: Finding }) {
  return (
    <li>
      <Status word={STATUSES[status]} />
      <span>
        <b>{name}</b>: {text}
        {advice !== null && <small>{advice}</small>}
      </span>
    </li>
  );
}

function titleOf(findings: readonly Finding[]): string {
  const count = (wanted: Finding['status']) => findings.filter(({ status }) => status === wanted).length;
  const [failures, warnings] = [count('FAILED'), count('WARNING')];
  if (failures > 0) return `${many(failures, 'test')} failed`;
  return warnings > 0 ? `It works, with ${many(warnings, 'warning')}` : 'The receiver passed all tests';
}
