import { isMap, isPair, isSeq, LineCounter, type Node, type ParsedNode, parseDocument } from 'yaml';
import type { QueueDeclaration } from '../../../packages/client/src/verbs/queues.ts';
import { ignoredIn } from '../../contract/ignored.ts';
import { contract } from '../../contract/index.ts';
import { signingSecretProblem } from '../../domain/signing-secret.ts';
import { tagsProblem } from '../../domain/tags-problem.ts';
import { printable } from '../../domain/text.ts';
import { QueuesFileError, type Written } from './apply.ts';

/** A file that declares queues: `{"queues": [{"name": "emails", "webhookUrl": "https://…", "concurrency": 5}]}`. */

/** Members that the contract does not have. */
const SECRET = 'signingSecret';
const TAGS = 'tags';

interface Source {
  /** Name of the file, for errors. */
  name: string;
  /** JSON, which may have comments, or YAML. */
  text: string;
  /** Replace `${NAME}` in texts. */
  variables: Readonly<Record<string, string | undefined>>;
  /** Variables that no text may have: who writes the file must not read the secrets of the process. */
  secrets: readonly string[];
}

interface QueuesFile {
  queues: QueueDeclaration[];
  /** Their members as the file has them, for output. */
  written: Written[];
}

type Variables = Pick<Source, 'variables' | 'secrets'>;

/**
 * Reads the declared queues.
 * @throws QueuesFileError with every mistake, so that a file is taken as a whole or not at all
 */
export function readQueuesFile({ name, text, variables, secrets }: Source): QueuesFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const mistakes: string[] = [];
  const at = (offset: number | undefined, message: string) => {
    const line = offset === undefined ? 1 : lines.linePos(offset).line;
    mistakes.push(`${name}:${line}: ${printable(message)}`);
  };
  for (const { pos, message } of document.errors) at(pos[0], message.split('\n')[0]?.replace(/ at line.*$/, '') ?? '');
  const queues = mistakes.length > 0 ? [] : queuesIn(document.contents, { variables, secrets }, at);
  if (mistakes.length > 0) throw new QueuesFileError(mistakes.join('\n'));
  return { queues: queues.map(({ queue }) => queue), written: queues.map(({ written }) => written) };
}

type At = (offset: number | undefined, message: string) => void;

interface ReadQueue {
  queue: QueueDeclaration;
  written: Written;
}

function queuesIn(root: ParsedNode | null, variables: Variables, at: At): ReadQueue[] {
  const list = isMap(root) ? root.get('queues', true) : undefined;
  if (isMap(root)) {
    for (const { key } of root.items) {
      if (String(key) !== 'queues') at(placeOf(key), `${String(key)} is unknown: a file has "queues" only`);
    }
  }
  if (!isSeq(list)) {
    at(placeOf(root), 'must be an object with a list "queues"');
    return [];
  }
  const placeOfName = new Map<string, number | undefined>();
  return list.items.flatMap((item) => {
    const read = queueIn(item, variables, at);
    if (read === null) return [];
    const { queue } = read;
    if (placeOfName.has(queue.name)) at(placeOf(item), `queue ${queue.name} is declared twice`);
    placeOfName.set(queue.name, placeOf(item));
    return [read];
  });
}

/** @returns null after a mistake */
function queueIn(item: unknown, variables: Variables, at: At): ReadQueue | null {
  if (!isMap(item)) {
    at(placeOf(item), 'a queue must be an object');
    return null;
  }
  const placeOfMember = (wanted: string) => {
    const pair = item.items.find((one) => isPair(one) && String(one.key) === wanted);
    return placeOf(pair?.key) ?? placeOf(item);
  };
  let isWrong = false;
  const wrong: At = (place, message) => {
    isWrong = true;
    at(place, message);
  };
  const given: Record<string, unknown> = {};
  const written = item.toJSON() as Record<string, unknown>;
  for (const [member, value] of Object.entries(written)) {
    const ignored =
      member === SECRET || member === TAGS
        ? null
        : ignoredIn(contract.queues.create, { query: {}, body: { [member]: value } });
    if (ignored !== null) wrong(placeOfMember(member), `${ignored} is not a setting of a queue`);
    else {
      const read = filled(value, variables);
      if ('problem' in read) wrong(placeOfMember(member), `${member}: the variable ${read.problem}`);
      else given[member] = read.value;
    }
  }
  const { [SECRET]: secret, [TAGS]: tags, ...settings } = given;
  const problem = secret === undefined ? null : signingSecretProblem(String(secret));
  if (problem !== null) wrong(placeOfMember(SECRET), `${SECRET}: ${problem}`);
  const tagProblem = tags === undefined ? null : Array.isArray(tags) ? tagsProblem(tags.map(String)) : 'must be a list';
  if (tagProblem !== null) wrong(placeOfMember(TAGS), `${TAGS}: ${tagProblem}`);
  const checked = contract.queues.create.body.safeParse(settings);
  if (!checked.success) {
    for (const { path, message } of checked.error.issues) {
      const member = String(path[0]);
      // One mistake of a member is enough.
      const isSaid = item.has(member) && !Object.hasOwn(settings, member);
      if (!isSaid) wrong(placeOfMember(member), `${member}: ${message}`);
    }
  }
  return isWrong ? null : { queue: given as unknown as QueueDeclaration, written };
}

/** Replaces `${NAME}` in a text by the value of the variable. */
function filled(value: unknown, { variables, secrets }: Variables): { value: unknown } | { problem: string } {
  if (typeof value !== 'string') return { value };
  const names = [...value.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => name);
  // A secret that a pipeline does not have is an empty text there.
  const missing = names.find((name) => (variables[name] ?? '') === '');
  const secret = names.find((name) => secrets.includes(name));
  if (secret !== undefined) return { problem: `${secret} is a secret of Jobferry itself, which no receiver may get` };
  if (missing !== undefined) return { problem: `${missing} is not set` };
  return { value: value.replace(/\$\{(\w+)\}/g, (_, name: string) => variables[name] ?? '') };
}

function placeOf(node: unknown): number | undefined {
  return (node as Node | null | undefined)?.range?.[0];
}
