import { useMemo } from 'preact/compat';
import { Link } from 'wouter-preact';
import { bytes } from '../../../../query/words/format.ts';
import { shortId } from '../../../../query/words/job-id.ts';
import { NO_PAYLOADS } from '../../../../query/words/rights.ts';
import { useRights } from '../../../api/rights.ts';
import { useServer } from '../../../api/server.ts';
import { useView } from '../../../base/time.ts';
import { Crossing } from '../../../parts/crossing.tsx';
import { Icon } from '../../../parts/icon.tsx';
import { JsonText } from '../../../parts/json/json-viewer.tsx';
import { Failure, Skeleton } from '../../../parts/states.tsx';
import { JobStatusWord } from '../../../parts/status.tsx';
import { Phrase } from '../../../parts/time.tsx';
import { sentenceOfJob } from '../../../words/job-sentence.ts';
import { lexJson } from '../../../words/json/lex.ts';
import { CopyAs } from '../job/copy-as.tsx';
import { useJobActions } from '../job/job-actions.tsx';
import { useJobBeside } from '../job/use-job.ts';

/** A job beside its list. */
export default function Peek({
  id,
  from,
  paths,
  onMove,
  onClose,
}: {
  id: string;
  from: string;
  paths: readonly string[];
  onMove: (step: 1 | -1) => void;
  onClose: () => void;
}) {
  const { result, job } = useJobBeside(id);
  const server = useServer();
  const view = useView();
  const { buttons, dialog } = useJobActions(job);
  const isHidden = useRights()?.mayViewPayloads === false;
  const preview = job?.payloadPreview ?? '';
  const isWhole = job !== undefined && new TextEncoder().encode(preview).length === job.payloadBytes;
  const lexed = useMemo(() => lexJson(preview), [preview]);
  return (
    <aside className="peek" aria-label={`Job ${shortId(id)}`}>
      <header>
        {job !== undefined && <JobStatusWord job={job} />}
        <span className="mono q">{shortId(id)}</span>
        <span className="end">
          <IconButton icon="up" label="Previous" onClick={() => onMove(-1)} />
          <IconButton icon="down" label="Next" onClick={() => onMove(1)} />
          <Link className="btn quiet icon tiny" href={`/jobs/${id}${from}`} aria-label="Open the page of the job">
            <Icon name="open" />
          </Link>
          <IconButton icon="x" label="Close" onClick={onClose} />
        </span>
      </header>
      <div className="in">
        <Failure result={result} what="This job" />
        {job === undefined || server === null ? (
          result.data === undefined ? (
            <Skeleton />
          ) : (
            <p>This job is no longer stored.</p>
          )
        ) : (
          <>
            <h2>
              <Phrase pieces={sentenceOfJob(job, { ...view, ...server })} />
            </h2>
            <Crossing job={job} webhookTimeoutSeconds={server.webhookTimeoutSeconds} isDown />
            {preview !== '' && <JsonText text={preview} lexed={lexed} paths={paths} />}
            {isHidden && <p className="small q">{NO_PAYLOADS}</p>}
            {!isWhole && !isHidden && (
              <p className="small q">
                {preview === ''
                  ? `Its payload of ${bytes(job.payloadBytes)} is not shown here.`
                  : `The start of ${bytes(job.payloadBytes)}. The rest is on the page of the job.`}
              </p>
            )}
          </>
        )}
      </div>
      {job !== undefined && (
        <footer>
          {buttons}
          <CopyAs job={job} payloadText={isWhole ? preview : null} />
        </footer>
      )}
      {dialog}
    </aside>
  );
}

function IconButton({ icon, label, onClick }: { icon: 'up' | 'down' | 'x'; label: string; onClick: () => void }) {
  return (
    <button type="button" className="btn quiet icon tiny" aria-label={label} onClick={onClick}>
      <Icon name={icon} />
    </button>
  );
}
