import { ShownOnce, ToCopy } from '../../parts/shown-once.tsx';

/** A secret that was just created. It is nowhere but in the state of one component, and gone when that is closed. */
export interface MadeSecret {
  secret: string;
  isSlack: boolean;
  /** Whether it replaces another one. */
  isNext: boolean;
}

export function SecretOnce({ made: { secret, isSlack, isNext }, onClose }: { made: MadeSecret; onClose: () => void }) {
  const what = isNext ? 'The secret is replaced. The new one' : 'The rule is created. Its signing secret';
  return (
    <ShownOnce
      title={<>{what} is shown only this once.</>}
      lost={isSlack ? null : { what: 'the signing secret', without: 'the rule needs another one' }}
      onClose={onClose}
    >
      <ToCopy text={secret} what="Signing secret" />
      <p className="small q">
        {isSlack
          ? 'Slack does not check it, so you need not keep it.'
          : 'With it the receiver verifies that a request is from Jobferry.'}
      </p>
    </ShownOnce>
  );
}
