import { upperFirst } from '../../../query/words/format.ts';
import { useUniqueId } from '../../base/use-unique-id.ts';

/** The server's problems of fields begin with a small letter, as a clause after the field's name. */
const sentence = (problem: string) => `${upperFirst(problem)}.`.replace('..', '.');

/** A text of the form, with its hint, its warning or its problem. */
export function Field({
  name,
  label,
  value = '',
  hint,
  placeholder,
  problem,
  warning = null,
  list,
  onText,
}: {
  name: string;
  label: string;
  value?: string | undefined;
  hint: string;
  placeholder?: string | undefined;
  problem: string | undefined;
  warning?: string | null;
  /** Id of the list of offers. */
  list?: string;
  onText?: (text: string) => void;
}) {
  const id = useUniqueId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        className="input"
        id={id}
        name={name}
        defaultValue={value}
        placeholder={placeholder}
        list={list}
        onChange={onText && ((event) => onText(event.currentTarget.value))}
        autoComplete="off"
        autoCapitalize="off"
        spellcheck={false}
        aria-invalid={problem !== undefined}
        aria-describedby={`${id}-hint`}
      />
      <small id={`${id}-hint`} className={problem !== undefined ? 'bad' : warning === null ? undefined : 'worry'}>
        {problem === undefined ? (warning ?? hint) : sentence(problem)}
      </small>
    </div>
  );
}
