import { number, upperFirst } from '../../../../query/words/format.ts';
import { useAddressWarning } from '../../../parts/use-address-warning.ts';
import { type Edits, type Field, type FieldName, GROUPS, textOf, WHEN } from '../model/queue-settings.ts';
import type { QueueOfSettings } from '../operations/queue-settings.ts';

interface FormProps {
  id: string;
  queue: QueueOfSettings;
  plan: { maxAttempts: number; maxDefers: number } | null;
  edits: Edits;
  problems: ReadonlyMap<FieldName, string>;
  /** The server's refusals, by field. */
  refused: ReadonlyMap<string, string>;
  /** The person may see the settings, and not change them. */
  isReadOnly: boolean;
  onEdit: (name: FieldName, text: string) => void;
  onSave: () => void;
}

/** Every setting, with the time at which a change takes effect. */
export function SettingsForm(props: FormProps) {
  const { id, queue, isReadOnly, onSave } = props;
  const warning = useAddressWarning(props.edits.webhookUrl ?? queue.webhookUrl);
  return (
    <form
      id={id}
      className="stack settings-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        onSave();
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) {
          event.preventDefault();
          onSave();
        }
      }}
    >
      {GROUPS.map(({ title, fields }) => (
        <fieldset key={title} disabled={isReadOnly}>
          <legend>{title}</legend>
          <div className="two">
            {fields.map((field) => (
              <SettingField
                key={field.name}
                field={field}
                isOff={isUnused(field, queue, props.edits)}
                warning={field.name === 'webhookUrl' ? warning : null}
                {...props}
              />
            ))}
          </div>
        </fieldset>
      ))}
    </form>
  );
}

/** Whether the setting is used only together with another one, which is not chosen. It can be set all the same. */
function isUnused({ name }: Field, queue: QueueOfSettings, edits: Edits): boolean {
  if (name === 'ackTimeout' || name === 'ackTimeoutAction') return (edits.mode ?? queue.mode) !== 'ACK';
  return name === 'rateLimitWindow' && (edits.rateLimitMax ?? textOf(queue.rateLimitMax)) === '';
}

const KEYBOARD: Readonly<Record<Field['setting']['kind'], 'url' | 'text' | 'numeric' | 'decimal'>> = {
  url: 'url',
  tags: 'text',
  whole: 'numeric',
  seconds: 'decimal',
  choice: 'text',
  switch: 'text',
};

function SettingField({
  field,
  queue,
  plan,
  edits,
  problems,
  refused,
  isOff,
  warning,
  onEdit,
}: FormProps & { field: Field; isOff: boolean; warning: string | null }) {
  const { name, label, when, setting, choices } = field;
  const problem = problems.get(name) ?? refused.get(name);
  const text = edits[name] ?? textOf(queue[name]);
  const limit = name === 'maxAttempts' || name === 'maxDefers' ? plan?.[name] : undefined;
  const hints = [field.hint, limit === undefined ? undefined : `at most ${number(limit)} in your plan`];
  const control = {
    id: name,
    className: setting.kind === 'url' ? 'input mono' : 'input',
    value: text,
    'aria-invalid': problem === undefined ? undefined : true,
    'aria-describedby': `${name}-note`,
    onChange: (event: { currentTarget: { value: string } }) => onEdit(name, event.currentTarget.value),
  };
  const classes = ['field', setting.kind === 'url' || setting.kind === 'tags' ? 'whole' : '', isOff ? 'off' : ''];
  return (
    <div className={classes.filter(Boolean).join(' ')}>
      <label htmlFor={name}>{label}</label>
      {choices !== undefined ? (
        <select {...control}>
          {choices.map(([value, choice]) => (
            <option key={value} value={value}>
              {choice}
            </option>
          ))}
        </select>
      ) : (
        <input
          {...control}
          type={setting.kind === 'url' ? 'url' : 'text'}
          inputMode={KEYBOARD[setting.kind]}
          placeholder={'default' in setting && setting.default === null ? 'no limit' : undefined}
          autoComplete="off"
          spellcheck={false}
        />
      )}
      <small id={`${name}-note`} className={problem !== undefined ? 'bad' : warning === null ? undefined : 'worry'}>
        {problem ?? warning ?? noteOf(hints, when, isOff)}
      </small>
    </div>
  );
}

function noteOf(hints: readonly (string | undefined)[], when: Field['when'], isOff: boolean): string {
  const known = hints.filter((hint) => hint !== undefined).join(', ');
  const effect = isOff ? 'Not used with these settings' : `Takes effect ${WHEN[when]}`;
  return known === '' ? effect : `${upperFirst(known)}. ${effect}`;
}
