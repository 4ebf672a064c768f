/**
 * Returns the same result to calls with the same arguments, until it is `ms` old. A failure is not kept.
 * @param keyOf tells arguments apart
 */
export function shared<Arguments extends unknown[], Answer>(
  ms: number,
  ask: (...args: Arguments) => Promise<Answer>,
  keyOf: (...args: NoInfer<Arguments>) => string,
): (...args: Arguments) => Promise<Answer> {
  const answers = new Map<string, Promise<Answer>>();
  return (...args) => {
    const key = keyOf(...args);
    const present = answers.get(key);
    if (present !== undefined) return present;
    const answer = ask(...args);
    const forget = () => {
      if (answers.get(key) === answer) answers.delete(key);
    };
    answers.set(key, answer);
    setTimeout(forget, ms).unref();
    answer.catch(forget);
    return answer;
  };
}
