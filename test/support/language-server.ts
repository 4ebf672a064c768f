import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TSC = `${ROOT}node_modules/typescript/bin/tsc`;

interface Message {
  id?: number;
  method?: string;
  params?: object;
  result?: unknown;
}

interface Place {
  /** Relative to the repository. */
  file: string;
  /** The line, without its indentation. */
  line: string;
}

/** TypeScript's language server, as an editor uses it: messages with a header each, over the standard streams. */
export function startLanguageServer() {
  const server = spawn(process.execPath, [TSC, '--lsp', '--stdio'], {
    cwd: ROOT,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const waiting = new Map<number, (result: unknown) => void>();
  let received = Buffer.alloc(0);
  let asked = 0;
  const send = (message: Message) => {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message });
    server.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  };
  const receive = ({ id, method, result }: Message) => {
    if (id === undefined) return;
    // The server sends requests as well, and goes on with any result.
    if (method !== undefined) send({ id, result: null });
    else waiting.get(id)?.(result);
  };
  server.stdout.on('data', (data: Buffer) => {
    received = Buffer.concat([received, data]);
    for (let end = received.indexOf('\r\n\r\n'); end >= 0; end = received.indexOf('\r\n\r\n')) {
      const length = Number(/Content-Length: (\d+)/i.exec(received.toString('latin1', 0, end))?.[1]);
      const next = end + 4 + length;
      if (received.length < next) return;
      const text = received.toString('utf8', end + 4, next);
      received = received.subarray(next);
      receive(JSON.parse(text) as Message);
    }
  });
  const request = <Result>(method: string, params: object): Promise<Result> =>
    new Promise((resolve) => {
      asked += 1;
      waiting.set(asked, (result) => resolve(result as Result));
      send({ id: asked, method, params });
    });
  const open = new Set<string>();
  const textOf = (uri: string) => readFileSync(fileURLToPath(uri), 'utf8');

  return {
    async initialize(): Promise<void> {
      await request('initialize', { processId: process.pid, rootUri: pathToFileURL(ROOT).href, capabilities: {} });
      send({ method: 'initialized', params: {} });
    },

    /** Returns where the last name of the first `code` in the file is defined. */
    async definitionsOf(file: string, code: string): Promise<Place[]> {
      const uri = pathToFileURL(ROOT + file).href;
      const text = textOf(uri);
      const start = text.indexOf(code);
      if (start < 0) throw new Error(`${file} has no ${code}`);
      if (!open.has(uri)) {
        open.add(uri);
        const textDocument = { uri, languageId: 'typescript', version: 1, text };
        send({ method: 'textDocument/didOpen', params: { textDocument } });
      }
      const before = text.slice(0, start + code.length - 1).split('\n');
      const position = { line: before.length - 1, character: before.at(-1)?.length };
      const found = await request<Location[] | null>('textDocument/definition', { textDocument: { uri }, position });
      return (found ?? []).map(({ uri: at, range: { start: name } }) => ({
        file: fileURLToPath(at).slice(ROOT.length),
        line: textOf(at).split('\n')[name.line]?.trim() ?? '',
      }));
    },

    async stop(): Promise<void> {
      const stopped = once(server, 'close');
      await request('shutdown', {});
      send({ method: 'exit' });
      server.stdin.end();
      await stopped;
    },
  };
}

interface Location {
  uri: string;
  range: { start: { line: number } };
}
