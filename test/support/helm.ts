import { stringify } from 'yaml';

/**
 * Renders the templates of a Helm chart: the part of Go's template language, and the functions, that our chart uses.
 * What it does not know is an error, so that a chart that needs more is noticed.
 */

// biome-ignore lint/suspicious/noExplicitAny: values of a chart have every shape
type Value = any;
interface Scope {
  dot: Value;
  /** `$` and declared variables. */
  variables: Readonly<Record<string, Value>>;
}
interface Block {
  keyword: string;
  rest: string;
  body: Node[];
  otherwise: Node[];
}
type Node = { text: string } | Block;

const ACTION = /\{\{(-?)\s*(?:\/\*[\s\S]*?\*\/|([\s\S]*?))\s*(-?)\}\}/g;
const BLOCKS = ['if', 'with', 'range', 'define'];

export function renderChart(templates: readonly string[], root: object): string[] {
  const defined = new Map<string, Node[]>();
  const parsed = templates.map((template) => parse(template, defined));
  return parsed.map((nodes) => render(nodes, { dot: root, variables: { $: root } }, defined));
}

function parse(template: string, defined: Map<string, Node[]>): Node[] {
  const root: Node[] = [];
  const open: { block: Block; into: Node[] }[] = [];
  let into = root;
  let end = 0;
  let trims = false;
  const addText = (text: string, trimsEnd: boolean) => {
    const begun = trims ? text.trimStart() : text;
    into.push({ text: trimsEnd ? begun.trimEnd() : begun });
  };
  for (const match of template.matchAll(ACTION)) {
    const [whole, before, action, after] = match;
    addText(template.slice(end, match.index), before === '-');
    end = match.index + whole.length;
    trims = after === '-';
    if (action === undefined || action === '') continue;
    const [, keyword = '', rest = ''] = /^(if|with|range|define|else|end)?\b\s*([\s\S]*)$/.exec(action) ?? [];
    const block: Block = { keyword, rest: keyword === '' ? action : rest, body: [], otherwise: [] };
    if (keyword === 'end') {
      const ended = open.pop();
      if (ended === undefined) throw new Error('an end without a beginning');
      into = ended.into;
      if (ended.block.keyword === 'define') defined.set(JSON.parse(ended.block.rest) as string, ended.block.body);
    } else if (keyword === 'else') {
      into = open.at(-1)?.block.otherwise ?? [];
    } else {
      if (keyword !== 'define') into.push(block);
      if (BLOCKS.includes(keyword)) {
        open.push({ block, into });
        into = block.body;
      }
    }
  }
  addText(template.slice(end), false);
  if (open.length > 0) throw new Error(`no end of ${open[0]?.block.keyword}`);
  return root;
}

function render(nodes: readonly Node[], scope: Scope, defined: Map<string, Node[]>): string {
  const within = (body: Node[], dot: Value, more: object = {}) =>
    render(body, { dot, variables: { ...scope.variables, ...more } }, defined);
  return nodes
    .map((node) => {
      if ('text' in node) return node.text;
      const { keyword, rest, body, otherwise } = node;
      const [, names = '', expression = rest] = /^((?:\$\w+(?:,\s*)?)+)\s*:=\s*([\s\S]*)$/.exec(rest) ?? [];
      const value = evaluate(expression, scope, defined);
      if (keyword === '') return String(value);
      if (keyword === 'range') {
        const variables = names.split(',').map((name) => name.trim());
        const of = (key: Value, item: Value) =>
          variables.length === 2
            ? { [variables[0] ?? '']: key, [variables[1] ?? '']: item }
            : { [variables[0] ?? '']: item };
        return Object.entries(value)
          .map(([key, item]) => within(body, item, of(key, item)))
          .join('');
      }
      if (!isTrue(value)) return within(otherwise, scope.dot);
      return within(body, keyword === 'with' ? value : scope.dot);
    })
    .join('');
}

function isTrue(value: Value): boolean {
  return typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value);
}

/** A pipeline: each command gets the result of the one before as its last argument. */
function evaluate(expression: string, scope: Scope, defined: Map<string, Node[]>): Value {
  const words = expression.match(/"(?:[^"\\]|\\.)*"|[()|]|[^\s()|"]+/g) ?? [];
  let at = 0;
  const pipeline = (): Value => {
    let piped: Value[] = [];
    for (;;) {
      const result = command(piped);
      if (words[at] !== '|') return result;
      at += 1;
      piped = [result];
    }
  };
  const command = (piped: Value[]): Value => {
    const name = words[at] ?? '';
    const isCall = /^[a-z]\w*$/i.test(name) && !/^(true|false)$/.test(name);
    if (!isCall) return operand();
    at += 1;
    const args: Value[] = [];
    while (at < words.length && words[at] !== ')' && words[at] !== '|') args.push(operand());
    return call(name, [...args, ...piped], defined);
  };
  const operand = (): Value => {
    const word = words[at++] ?? '';
    if (word === '(') {
      const value = pipeline();
      at += 1;
      return value;
    }
    if (word.startsWith('"') || /^[\d-]|^(true|false)$/.test(word)) return JSON.parse(word);
    const [head = '', ...path] = word.split('.');
    if (head !== '' && !(head in scope.variables)) throw new Error(`unknown: ${word}`);
    const start = head === '' ? scope.dot : scope.variables[head];
    return path.filter((part) => part !== '').reduce((value, part) => value?.[part], start);
  };
  return pipeline();
}

function call(name: string, args: Value[], defined: Map<string, Node[]>): Value {
  const [a, b, c] = args;
  const lines = (text: string, spaces: number) => text.replaceAll(/^(?=.)/gm, ' '.repeat(spaces));
  const functions: Record<string, () => Value> = {
    include: () => render(defined.get(a) ?? missing(a), { dot: b, variables: { $: b } }, defined),
    toYaml: () => stringify(a).trimEnd(),
    nindent: () => `\n${lines(b, a)}`,
    quote: () => JSON.stringify(String(a)),
    default: () => (isTrue(b) ? b : a),
    trunc: () => String(b).slice(0, a),
    trimSuffix: () => String(b).replace(new RegExp(`${a}$`), ''),
    upper: () => String(a).toUpperCase(),
    replace: () => String(c).replaceAll(a, b),
    printf: () => args.slice(1).reduce((text: string, value) => text.replace('%s', value), a),
    list: () => args,
    dict: () => Object.fromEntries(args.flatMap((key, n) => (n % 2 === 0 ? [[key, args[n + 1]]] : []))),
    merge: () => ({ ...b, ...a }),
    deepCopy: () => structuredClone(a),
    add: () => args.reduce((sum: number, value) => sum + Number(value), 0),
    max: () => Math.max(...args.map(Number)),
    ceil: () => Math.ceil(Number(a)),
    eq: () => a === b,
    not: () => !isTrue(a),
  };
  return (functions[name] ?? missing(name))();
}

function missing(name: string): never {
  throw new Error(`the chart uses ${name}, which this does not know`);
}
