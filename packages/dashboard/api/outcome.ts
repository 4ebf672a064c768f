/** The result of a mutation: its payload, or the refusal with its reason. */
export type Outcome<Payload> =
  | { ok: true; value: Payload }
  | { ok: false; message: string; fieldErrors: ReadonlyMap<string, string> };

interface Refusal {
  message: string;
  formErrors?: readonly string[];
  fieldErrors?: readonly { field: string; messages: readonly string[] }[];
}

/** Members of the union that `... on Error` selects. Payloads have no field `message`. */
type RefusalOf<Result> = Extract<Result, { message: string }>;

/**
 * Reads the result of a mutation, as in `outcomeOf(data.runNow)`. The operation selects `... on Error { message }`, and
 * for input also `... on ValidationError { formErrors fieldErrors { field messages } }`.
 */
export function outcomeOf<Result extends object>(result: Result): Outcome<Exclude<Result, RefusalOf<Result>>> {
  if (!('message' in result)) return { ok: true, value: result as Exclude<Result, RefusalOf<Result>> };
  const { message, formErrors = [], fieldErrors = [] } = result as unknown as Refusal;
  return {
    ok: false,
    message: formErrors[0] ?? message,
    fieldErrors: new Map(fieldErrors.map(({ field, messages }) => [field, messages.join(' ')])),
  };
}
